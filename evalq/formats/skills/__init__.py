"""Skills: the evals.json of a skill, and how often requests trigger it."""
