"""The Celery application that runs bake-offs."""
