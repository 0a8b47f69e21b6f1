"""How long a test waits for what must come: enough for a starved machine, less than a test may take."""

PATIENCE_S = 240
