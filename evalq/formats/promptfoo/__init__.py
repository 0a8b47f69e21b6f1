"""promptfoo: configurations as tasks and evalsets."""
