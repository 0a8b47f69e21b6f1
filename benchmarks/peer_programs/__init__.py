"""Programs that run in the peers' own environments, not in this one."""
