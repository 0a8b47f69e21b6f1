"""What every kind of test shares."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from forks import Forks
from hypothesis import HealthCheck, settings

# Ours are many: half the usual number of examples each. To look longer: --hypothesis-profile=thorough.
# Nothing depends on the speed of the machine.
_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("usual", _ANY_SPEED, max_examples=50)
settings.register_profile("thorough", _ANY_SPEED, max_examples=1000)
settings.load_profile("usual")


# In the background and under nohup a shell starts its commands deaf to these, and so would be all we start.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Where commands and workers are forked from."""
    made = Forks(tmp_path_factory.mktemp("c"))
    yield made
    made.stop()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte; mounting it takes root, so only CI must have it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        assert os.environ.get("CI") != "true", f"no tmpfs can be mounted: {done.stderr}"
        pytest.skip(f"no tmpfs can be mounted, which takes root: {done.stderr.strip()}")
    yield folder
    # Lazy: whoever still writes there may be stopped after this fixture.
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
