"""The Celery application Flower looks through: it knows the broker by its ordinary name only."""

import os

from evalq.engines.broker import make_app

app = make_app(os.environ.get("EVALQ_BROKER_URL", ""), is_lean=False)
