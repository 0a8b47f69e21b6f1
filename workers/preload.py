"""What a worker imports besides this package, so that a process can import it before it forks workers.

The other modules of the package read the settings when they are imported, and are left to the worker.
"""

from collections.abc import Iterable, Iterator
from importlib import import_module

MODULES = (
    *("celery.bin.worker", "celery.bin.beat", "celery.apps.worker", "celery.worker.worker"),
    *(
        "celery.worker.strategy",
        "celery.worker.components",
        "celery.worker.consumer",
        "celery.worker.control",
    ),
    *("celery.concurrency.base", "celery.backends.redis", "celery.loaders.app", "celery.fixups.django"),
    *("celery.app.amqp", "celery.app.control", "celery.app.events", "celery.app.log", "celery.events.state"),
    *("kombu.transport.redis", "psutil", "psycopg_pool", "redis.asyncio"),
    *("evalq.engines.async_scripts", "evalq.engines.broker", "evalq.engines.transport"),
    *("evalq.settings", "evalq.keys", "evalq.store.batches"),
    *("evalq.bakeoff.conclude", "evalq.bakeoff.publish", "evalq.bakeoff.recover"),
    "evalq.bakeoff.run_alerts",
    *("evalq.bakeoff.verdict_cache", "evalq.calling.metered", "evalq.calling.rate_limit"),
    *("evalq.calling.spool", "evalq.calling.pricing", "evalq.grading.grade"),
    *("evalq.grading.sandbox.availability", "evalq.grading.sandbox.running"),
    *("evalq.drift.alerts", "evalq.engines.session"),
    *("workers.chords", "workers.consumer", "workers.job_events", "workers.log_format"),
    *("workers.pool", "workers.process"),
)
"""Everything that the modules of this package import, and what Celery loads when a worker starts."""

PROVIDER_MODULES = {
    "simulated": ("evalq.calling.providers.simulated",),
    "python": ("evalq.calling.providers.local",),
    "command": ("evalq.calling.providers.local",),
    "anthropic": ("evalq.calling.providers.anthropic", "anthropic"),
    "openai": ("evalq.calling.providers.openai", "openai"),
    "xai": ("evalq.calling.providers.openai", "openai"),
    "google": ("evalq.calling.providers.google", "google.genai"),
    "http": ("evalq.calling.providers.http",),
}
"""The adapter of each provider, and the SDK that it imports with its first judge."""


def import_step_by_step() -> Iterator[None]:
    """Import everything but the adapters, and pause after each module."""
    for name in MODULES:
        import_module(name)
        yield
    _build_models()


def _build_models() -> None:
    """Build once what jobs are read with, instead of in every worker: pydantic waits for the first use."""
    from evalq.definitions.evalset import EvalCase
    from evalq.definitions.judge import judge_reader
    from evalq.definitions.task import TaskConfig

    EvalCase.model_rebuild()
    TaskConfig.model_rebuild()
    judge_reader()


def import_adapters(providers: Iterable[str]) -> None:
    """Import the adapters and SDKs of these providers."""
    for provider in providers:
        for name in PROVIDER_MODULES.get(provider, ()):
            import_module(name)
