"""Grading answers: each grader gives an answer one grade, and the grades decide its outcome."""
