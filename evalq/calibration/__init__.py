"""Calibration: what people say of graded answers, and what that makes of the grader and of every judge."""
