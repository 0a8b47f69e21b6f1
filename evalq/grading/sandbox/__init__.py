"""The sandbox, the only place where model-written code runs."""
