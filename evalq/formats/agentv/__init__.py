"""From agentv's EVAL.yaml to the evals.json of skill-creator: reading, wording, grouping by skill."""
