"""Reports on the terminal and for pipes: results, live progress and single cases, from plain values."""
