"""One process of the fleet: `python -m workers.process APPLICATION worker|beat OPTIONS…`.

The options are those of the `celery` command. That one also loads Flower, a shell and every other command,
which takes a quarter of a worker's start.
"""

import gc
import importlib
import sys

from celery.bin.base import CLIContext
from celery.bin.beat import beat
from celery.bin.worker import worker

_COMMANDS = {"worker": worker, "beat": beat}


def main() -> None:
    """Become the worker or the scheduler of an application; Celery handles signals and exit code."""
    application, kind, *options = sys.argv[1:]
    app = importlib.import_module(application).app
    if kind == "worker":
        app.loader.import_default_modules()
    # Imported modules stay for good, so no later collection needs to visit them.
    gc.freeze()
    gc.enable()
    context = CLIContext(app=app, no_color=True, workdir=None)
    _COMMANDS[kind].main(options, prog_name=f"evalq {kind}", obj=context)


if __name__ == "__main__":
    gc.disable()
    main()
