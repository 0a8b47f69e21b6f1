"""Counts the parts of chords: those of a tick together, where Celery would count them one by one."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from celery import Celery, states

from evalq.engines.async_scripts import AsyncScripts
from evalq.errors import Unreachable
from evalq.store.coalescer import Coalescer

log = logging.getLogger(__name__)

_TICK_S = 0.12
_SCRIPT = (Path(__file__).parent / "count_parts.lua").read_text("utf-8")


class ChordParts:
    """Counts the jobs that ended; the last one of a chord has Celery itself send the chord's callback."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._coalescer = Coalescer(self._count_all, tick_s=_TICK_S)

    async def count(self, request: Any, *, is_last: bool) -> None:
        """Count one job, at once if it `is_last` of those in hand.

        A part that is lost with the broker is no harm: reap concludes complete runs too.
        """
        if not request.chord:
            return
        try:
            is_whole = await self._coalescer.ask(request, is_last=is_last)
            if is_whole:
                await asyncio.to_thread(self._complete, request)
        except Unreachable as exc:
            log.warning("job=%s: not counted in its chord: %s", request.id, exc)

    def _complete(self, request: Any) -> None:
        """Celery finds the part counted already, and the chord complete: it sends the callback, once."""
        self._app.backend.on_chord_part_return(request, states.SUCCESS, None)

    async def _count_all(self, requests: Sequence[Any]) -> list[bool]:
        by_chord: dict[str, list[Any]] = defaultdict(list)
        for request in requests:
            by_chord[request.group].append(request)
        counts = await asyncio.gather(*(self._count_chord(gid, parts) for gid, parts in by_chord.items()))
        whole = dict(zip(by_chord, counts, strict=True))
        # Of the parts of a complete chord one is enough to complete it.
        last = {parts[-1].id for gid, parts in by_chord.items() if whole[gid]}
        return [request.id in last for request in requests]

    async def _count_chord(self, gid: str, parts: Sequence[Any]) -> bool:
        backend = self._app.backend
        keys = [backend.get_key_for_group(gid, suffix).decode() for suffix in (".j", ".t", ".s", ".d", ".c")]
        args: list[Any] = [backend.chord_expires or 0]
        for part in parts:
            index = "+inf" if part.group_index is None else part.group_index
            value = backend.encode([1, part.id, states.SUCCESS, None])
            args += [part.id, index, value]
        return bool(await self._scripts.run_script(_SCRIPT, keys, args))

    @cached_property
    def _scripts(self) -> AsyncScripts:
        return AsyncScripts(self._app.conf.broker_url)
