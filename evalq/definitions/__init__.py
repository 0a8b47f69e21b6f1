"""What the user writes: tasks, evalsets and judges, loaded safely and checked strictly."""
