"""Ingest: rows of production data become cases, scrubbed and reviewed before anything is written."""
