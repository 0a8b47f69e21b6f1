"""The messages of jobs: Celery and kombu render one of a run, and the others differ only in ids and names."""

import base64
import json
from typing import Any
from uuid import UUID, uuid4, uuid5

from celery import Celery

from evalq.engines.fleet import job_queue
from evalq.engines.job_names import name_job
from evalq.records import CONTROL_QUEUE
from evalq.store.jobs import QueuedJob


class JobMessage:
    """A run's message: `publish` sends it through kombu, `render` writes the same text without it."""

    def __init__(self, app: Celery, job: QueuedJob) -> None:
        group = str(chord_id(job.uid, job.run_id))
        body = app.signature("conclude", args=(job.run_id,), immutable=True, options={"queue": CONTROL_QUEUE})
        body.freeze(f"{group}-conclude", group_id=None)
        message = app.amqp.as_task_v2(
            group,
            "run_case",
            args=(job.id,),
            group_id=group,
            chord=body,
            ignore_result=True,
        )
        self._headers, self._properties, self._embed = message.headers, message.properties, message.body[2]
        self._form: _Form | None = None
        self.queue = job_queue(job.stage, job.provider)

    def publish(self, producer: Any, job: QueuedJob) -> None:
        """Send a job's message."""
        self._send(producer, job.id, str(message_id(job.uid, job.id)), _name(job))

    def render(self, producer: Any, job: QueuedJob) -> str:
        """A job's message as kombu would write it, at a tenth of the cost; the first one is kombu's."""
        if self._form is None:
            example = _Example()
            with producer.channel.capturing() as texts:
                self._send(producer, example.job_id, example.task_id, example.name)
            self._form = _Form(texts[0], example)
        return self._form.fill(job.id, str(message_id(job.uid, job.id)), _name(job))

    def _send(self, producer: Any, job_id: int, task_id: str, name: str) -> None:
        ids = {"id": task_id, "root_id": task_id, "argsrepr": f"({job_id},)", "shadow": name}
        producer.publish(
            [[job_id], {}, self._embed],
            exchange="",
            routing_key=self.queue,
            serializer="json",
            headers={**self._headers, **ids},
            **{**self._properties, "correlation_id": task_id},
        )


class _Example:
    """Ids and a name that nothing else in a message can be equal to."""

    def __init__(self) -> None:
        self.job_id = uuid4().int % 10**18 + 10**18
        self.task_id = str(uuid4())
        self.name = str(uuid4())


class _Form:
    """The text of an example message, with blanks where the ids and the name of a job go."""

    def __init__(self, text: str, example: _Example) -> None:
        message = json.loads(text)
        self._job_id, self._task_id, self._name = str(example.job_id), example.task_id, example.name
        self._body = base64.b64decode(message["body"]).decode()
        self._tag = message["properties"]["delivery_tag"]
        before, after = text.split(message["body"])
        self._before, self._after = before, after

    def fill(self, job_id: int, task_id: str, name: str) -> str:
        """The message of one job, with a delivery tag of its own."""
        body = base64.b64encode(self._body.replace(self._job_id, str(job_id)).encode()).decode()
        after = self._after.replace(self._tag, str(uuid4()))
        after = after.replace(self._task_id, task_id).replace(self._job_id, str(job_id))
        # The name is last: it is the user's text, in which nothing may be replaced.
        after = after.replace(self._name, json.dumps(name)[1:-1])
        return f"{self._before}{body}{after}"


def _name(job: QueuedJob) -> str:
    return name_job(job.bakeoff_id, job.judge, job.case_id, sample=job.sample)


def message_id(uid: UUID, job_id: int) -> UUID:
    """A job's id on the queue: the same each time it is published, so that its chord counts it once."""
    return uuid5(uid, f"job/{job_id}")


def chord_id(uid: UUID, run_id: int) -> UUID:
    """The id of a run's chord."""
    return uuid5(uid, f"run/{run_id}")
