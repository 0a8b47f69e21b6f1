"""The Celery application for Flower, which knows the broker's transport only by its ordinary name."""

import os
from pathlib import Path

from evalq.engines.broker import make_app
from evalq.settings import load_settings

app = make_app(load_settings(Path.cwd(), os.environ).broker_url or "", messages="celery")
