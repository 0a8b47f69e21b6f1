"""The command line: each command parses, makes one call, renders, returns an exit code."""
