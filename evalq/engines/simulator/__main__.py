"""The simulator as a child process: its config is the first line of stdin, whose end is its own end."""

import os
import sys
from pathlib import Path

from evalq.engines.simulator.profile import SimulatorConfig
from evalq.engines.simulator.server import SimulatorServer
from evalq.errors import EvalqError
from evalq.settings import project_root


def main() -> int:
    """Read the config, say where it listens, serve until the parent closes the pipe or dies."""
    config = SimulatorConfig.model_validate_json(sys.stdin.buffer.readline())
    try:
        server = SimulatorServer(config, root=project_root(Path.cwd()))
    except EvalqError as exc:
        sys.stderr.write(f"{exc}\n")
        return exc.exit_code
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    stdin = sys.stdin.fileno()
    server.stop_when_readable(stdin, lambda: not os.read(stdin, 1))
    server.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
