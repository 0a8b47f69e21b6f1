"""Marking answers: each grader looks at one answer and gives one grade."""
