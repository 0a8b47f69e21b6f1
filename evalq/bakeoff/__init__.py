"""Errands: questions of our own, put to one model as a small bake-off."""
