"""Postgres, the truth of every bake-off: one function per named query of queries.sql."""
