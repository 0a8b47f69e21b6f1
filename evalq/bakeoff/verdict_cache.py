"""The verdict cache: a grader model is asked the same question under the same conditions only once."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import TypeVar

from evalq.definitions.judge import JudgeConfig
from evalq.errors import UngradableAnswer
from evalq.grading.replies import PARSER_VERSION
from evalq.records import Ask, Prompt
from evalq.store.cached_verdicts import keep_verdict, use_verdict
from evalq.store.database import Database
from evalq.store.jobs import Job

Read = TypeVar("Read")

# How fast a grader may be asked does not change what it says.
_LIMITS = {"rpm", "input_tpm", "output_tpm", "concurrency", "deadline_s", "api_key_env"}


def verdict_key(prompt: Prompt, grader: JudgeConfig) -> str:
    """Everything that goes into a verdict: case, graded text, rubric, grader, parameters, parser.

    The rendered prompt holds the rubric, the case's inputs and the graded text, so a changed rubric is
    a changed key; the case id keeps equal texts of two cases apart.
    """
    parts = [
        prompt.about.task,
        prompt.about.case_id,
        prompt.system,
        prompt.user,
        prompt.max_tokens,
        prompt.temperature,
        prompt.reply_schema,
        grader.model_dump(mode="json", exclude={"name", "price", *_LIMITS}),
        PARSER_VERSION,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


async def cached_reply(
    db: Database, job: Job, grader: JudgeConfig, ask: Ask, prompt: Prompt, *, read: Callable[[str], Read]
) -> Read:
    """A grader model's reply, parsed by `read`: from the cache, or asked for and then cached.

    A reply that `read` refuses is not cached: it is paid for but is not a verdict. The database is asked in a
    thread, so that other answers do not wait for it.
    """
    key = verdict_key(prompt, grader)
    cached = await asyncio.to_thread(use_verdict, db, key, job)
    if cached is not None:
        return read(cached)
    reply = await ask(prompt)
    if not reply.is_answer:
        raise UngradableAnswer(f"the grader's reply is {reply.state}")
    found = read(reply.text)
    await asyncio.to_thread(
        keep_verdict, db, key, reply.text, grader_model=grader.name, cost_usd=reply.cost_usd
    )
    return found
