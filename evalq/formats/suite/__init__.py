"""Suites of evals (eval-suite.yaml): read, planned, run, reported, compared with baselines, gated."""
