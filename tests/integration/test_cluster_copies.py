"""Data folders made from the cluster template: real servers, each with an identity of its own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import evalq
from evalq.engines.embedded import attach
from evalq.engines.postgres import find_template, make_template
from evalq.store.database import known_version

ROOT = Path(evalq.__file__).parents[1]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder with a template in it."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        make_template()
        assert find_template().is_sound()
        yield folder


def read_identity(data_dir: Path) -> tuple[str, int]:
    """The name of a database, and the version of its schema as the server first has it."""
    with (
        attach(data_dir, want=("postgres",)) as engines,
        psycopg.connect(engines.database_url) as connection,
    ):
        uid = connection.execute("SELECT uid FROM installation").fetchone()
        version = connection.execute("SELECT max(version) FROM schema_versions").fetchone()
        assert uid
        assert version
        return str(uid[0]), int(version[0])


def test_each_copy_has_the_schema_and_a_name_that_stays(cache: Path, tmp_path: Path) -> None:
    first, version = read_identity(tmp_path / "first")
    second, _ = read_identity(tmp_path / "second")
    assert version == known_version()
    assert first != second
    assert read_identity(tmp_path / "first")[0] == first


def test_a_copy_that_does_not_start_is_replaced_by_a_new_cluster(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(cache, tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache").chmod(0o700)
    version = find_template().folder / "pg" / "PG_VERSION"
    version.write_text("x" * (version.stat().st_size - 1) + "\n")
    assert find_template().is_sound()
    with attach(tmp_path / "data", want=("postgres",)) as engines:
        psycopg.connect(engines.database_url).close()
    assert not find_template().is_sound()


def test_processes_that_make_the_template_together_make_one(tmp_path: Path) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", "from evalq.engines.postgres import make_template; make_template()"]
    makers = [subprocess.Popen(argv, env=env) for _ in range(2)]
    assert [maker.wait() for maker in makers] == [0, 0]
    left = sorted(path.name for path in (tmp_path / "evalq" / "clusters").iterdir())
    assert len(left) == 2
    assert left[1] == "lock"
