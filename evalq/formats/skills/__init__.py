"""Triggering at scale: how often requests load a skill, how surely, and which of several they load."""
