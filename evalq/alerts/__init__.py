"""Alerts: raised with the decision they tell of, delivered to every channel, never in a run's way."""
