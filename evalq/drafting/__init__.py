"""Drafting: a model writes cases stratum by stratum; people edit and accept them before they count."""
