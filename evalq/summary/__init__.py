"""From outcomes to results: rates, comparisons of judges and runs, warnings, power."""
