"""What a person sees in the terminal: results, live progress and single cases, from plain values."""
