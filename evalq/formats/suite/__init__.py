"""Suites of evals run on the fleet: chosen, planned, run, retried, compared with baselines, gated."""
