"""No call reaches an address of cloud metadata, however its URL writes it: tried in a network of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from metadata_addresses import NAME, NO_NAMESPACES
from patience import PATIENCE_S

PROGRAM = Path(__file__).parent.parent / "helpers" / "metadata_addresses.py"
CONNECTED = [
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "169.254.43518",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[fe80::1%lo]",
    "[fd00:ec2::254]",
    "168.63.129.16",
    "192.0.0.192",
    NAME,
]
"""A connection is opened, and closed again before anything is sent."""

NOT_CONNECTED = {
    "0251.0376.0251.0376": "InvalidURL: Invalid IPv4 address: '0251.0376.0251.0376'",
    "[fe80::1%25lo]": "ConnectError: its name is not known",
}


@pytest.fixture(scope="module")
def became() -> dict[str, Any]:
    """What became of a call to each host."""
    command = [sys.executable, os.fspath(PROGRAM), *CONNECTED, *NOT_CONNECTED]
    environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode == NO_NAMESPACES:
        pytest.skip("this system allows no network namespaces")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("host", CONNECTED)
def test_a_metadata_address_gets_no_byte_of_a_call(became: dict[str, Any], host: str) -> None:
    refusal = "NeverConnects: its address is link-local, where machines keep secrets"
    assert became[host] == {"refusal": refusal, "received": [0]}


@pytest.mark.parametrize("host", NOT_CONNECTED)
def test_a_form_that_nothing_resolves_is_not_even_connected_to(became: dict[str, Any], host: str) -> None:
    assert became[host] == {"refusal": NOT_CONNECTED[host], "received": []}
