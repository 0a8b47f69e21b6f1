"""Evaluating and promoting eva prompts: the exam, its record, and the gates it opens."""
