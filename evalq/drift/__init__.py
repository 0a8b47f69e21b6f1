"""Drift: whether a judge is still as good as it was, decided by rules whose false alarms are known."""
