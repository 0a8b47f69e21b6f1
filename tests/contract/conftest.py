from collections.abc import Iterator

import pytest
from socket_servers import Serve, serving


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server by what it does with each connection."""
    with serving() as start:
        yield start
