"""Making cases: from rows of production data, scrubbed and reviewed, or drafted by a model."""
