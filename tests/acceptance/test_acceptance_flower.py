"""`evalq up --flower`: Flower beside the embedded fleet, behind a password, showing the bake-off by name."""

import base64
import json
import re
import socket
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from patience import PATIENCE_S

from evalq.engines.processes import wait_until

SIGN_IN = re.compile(r"Flower: (http://127\.0\.0\.1:\d+/) \(sign in as (\S+), password (\S+)\)")


def tasks_of(url: str, user: str, password: str) -> dict[str, dict[str, Any]]:
    """The jobs that Flower lists, by name."""
    secret = base64.b64encode(f"{user}:{password}".encode()).decode()
    request = Request(f"{url}api/tasks", headers={"Authorization": f"Basic {secret}"})
    with urlopen(request, timeout=PATIENCE_S) as reply:
        return {task["name"]: task for task in json.loads(reply.read()).values()}


def test_up_starts_flower_and_says_where_it_is(new_project: Callable[..., Any]) -> None:
    project = new_project()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    project.write_cases("dev-2", 2)
    try:
        up = project.run("up", "--flower", "--flower-port", port)
        assert up.returncode == 0, up.stderr
        found = SIGN_IN.search(up.stdout)
        assert found, up.stdout
        url, user, password = found.groups()
        with pytest.raises(HTTPError) as refusal:
            urlopen(f"{url}api/tasks", timeout=PATIENCE_S)
        with refusal.value as reply:
            assert reply.code == 401
        again = project.run("up", "--flower", "--flower-port", port)
        assert (again.returncode, "in use" in again.stderr) == (2, True)
        bake = project.run("bake-off", "--task", "capitals", "--eval-set", "dev-2", "--judges", "mute")
        assert bake.returncode == 3, bake.stderr
        failed = {"1 mute c00": "FAILURE", "1 mute c01": "FAILURE"}

        def states() -> dict[str, str]:
            return {name: task["state"] for name, task in tasks_of(url, user, password).items()}

        assert wait_until(lambda: failed.items() <= states().items(), timeout_s=PATIENCE_S), states()
    finally:
        down = project.run("down")
    assert down.returncode == 0, down.stderr
    assert project.is_quiet()
