"""Checks: small functions that mark an answer without a model, a person or the sandbox."""
