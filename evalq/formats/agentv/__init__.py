"""agentv: EVAL.yaml as a task and an evalset (read, load, graders), or as evals.json (transpile)."""
