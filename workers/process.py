"""One process of the fleet: `python -m workers.process APPLICATION worker|beat|flower OPTIONS…`.

The options are those of the `celery` command. That one also loads a shell and every other command, which
takes a quarter of a worker's start, and imports from the working folder.
"""

import gc
import importlib
import sys
from typing import Any

import click
from celery.bin.base import CLIContext
from celery.bin.beat import beat
from celery.bin.worker import worker

from evalq.engines.job_names import name_series


def _load_flower() -> Any:
    """Flower's command, with its figures behind the password like its pages, and counted by judge."""
    from flower.command import flower
    from flower.events import PrometheusMetrics
    from flower.views.monitor import Metrics
    from tornado.web import authenticated

    Metrics.get = authenticated(Metrics.get)
    observe = PrometheusMetrics.observe_task

    def observe_series(metrics: Any, worker: str, event: dict[str, Any], task: Any) -> None:
        name = name_series(event.get("name") or task.name or "")
        observe(metrics, worker, {**event, "name": name}, task)

    PrometheusMetrics.observe_task = observe_series
    return flower


_GARBAGE_EVERY = 20_000

_COMMANDS = {"worker": lambda: worker, "beat": lambda: beat, "flower": _load_flower}


def main() -> None:
    """Become a part of an application; Celery handles signals and the exit code."""
    application, kind, *options = sys.argv[1:]
    app = importlib.import_module(application).app
    if kind == "worker":
        app.loader.import_default_modules()
    # Imported modules stay for good, so no later collection needs to visit them.
    gc.freeze()
    # A thousand jobs in hand are no garbage: looking through them after every 700 new objects costs a tenth.
    gc.set_threshold(_GARBAGE_EVERY, 20, 20)
    gc.enable()
    context = CLIContext(app=app, no_color=True, workdir=None)
    # Flower looks at the options of the command it is usually a part of.
    parent = click.Context(click.Group("celery"))
    _COMMANDS[kind]().main(options, prog_name=f"evalq {kind}", obj=context, parent=parent)


if __name__ == "__main__":
    gc.disable()
    main()
