"""A stand-in for model providers on loopback: real protocols, chosen faults, a ledger of what was billed."""
