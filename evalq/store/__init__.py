"""Postgres, the truth of every bake-off: one module and one file of queries per group of tables."""
