"""Checks: small functions that mark an answer without asking anybody."""
