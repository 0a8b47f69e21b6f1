"""Messages of unknown jobs are put back a bounded number of times; known jobs do not notice."""

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery

from workers.consumer import Consumer


class Message:
    """A message that notes what becomes of it, as kombu's do."""

    def __init__(self, task: str) -> None:
        self.headers = {"task": task, "id": uuid4().hex}
        self.put_back: list[bool] = []

    def reject_log_error(self, _log: logging.Logger, _errors: Any, requeue: bool = False) -> None:
        """Put back, or dropped."""
        self.put_back.append(requeue)

    def ack_log_error(self, *_: Any) -> None:
        raise AssertionError("an unknown message is never acknowledged")


class Timer:
    """Does at once what is to be done later, and notes how long that would have been."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []

    def call_after(self, seconds: float, function: Callable[..., None], args: tuple[Any, ...]) -> None:
        self.waits_s.append(seconds)
        function(*args)


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def served() -> list[Message]:
    """Messages that reached their job."""
    return []


@pytest.fixture
def handle(timer: Timer, served: list[Message]) -> Callable[[Message], None]:
    """Gives a message to a worker's consumer that knows one job."""
    app = Celery(broker="memory://", set_as_current=False)
    controller = SimpleNamespace(use_eventloop=False)
    consumer = Consumer(lambda request: None, app=app, timer=timer, controller=controller)
    consumer.strategies["run_case"] = lambda message, *_: served.append(message)
    return consumer.create_task_handler()


def deliver_until_dropped(handle: Callable[[Message], None], message: Message) -> None:
    """Deliver a message as often as it is put back; a thousand times would be for ever."""
    for _ in range(1000):
        handle(message)
        if not message.put_back[-1]:
            return


def test_an_unknown_message_is_put_back_for_five_minutes_and_then_dropped_with_an_error(
    handle: Callable[[Message], None], timer: Timer, caplog: pytest.LogCaptureFixture
) -> None:
    message = Message("from_the_future")
    deliver_until_dropped(handle, message)
    assert message.put_back == [True] * 60 + [False]
    assert sum(timer.waits_s) == 300
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert errors == ["job 'from_the_future' is not known to any worker; its message is dropped"]


def test_each_unknown_message_has_its_own_count(handle: Callable[[Message], None]) -> None:
    deliver_until_dropped(handle, Message("from_the_future"))
    other = Message("from_the_future")
    handle(other)
    assert other.put_back == [True]


def test_known_jobs_are_served_while_unknown_messages_come_and_go(
    handle: Callable[[Message], None], served: list[Message]
) -> None:
    known = [Message("run_case"), Message("run_case")]
    handle(known[0])
    deliver_until_dropped(handle, Message("from_the_future"))
    handle(known[1])
    assert served == known
    assert [message.put_back for message in known] == [[], []]
