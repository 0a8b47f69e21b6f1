"""The sandbox: code that models wrote runs here, and nowhere else."""
