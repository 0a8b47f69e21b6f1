"""What verdicts come to: the numbers of each run, judges two by two, and all of it in words."""
