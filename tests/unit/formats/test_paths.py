"""Paths written in files lead to regular files inside their folders, or nowhere."""

import os
import socket
from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.formats.paths import Place, read_inside, resolve_inside

HERE = Place("eval.yml", 7)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a file in it, and a secret beside it."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "repo-two").mkdir()
    (tmp_path / "repo-two/twin.txt").write_text("secret")
    root = tmp_path / "repo"
    (root / "deep/er").mkdir(parents=True)
    (root / "deep/er/a.txt").write_text("text")
    return root


def refusal(written: str, *roots: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_inside(written, roots, place=HERE)
    return str(caught.value)


@pytest.mark.parametrize("written", ["deep/er/a.txt", "./deep//er/a.txt", "deep/../deep/er/a.txt"])
def test_a_file_inside_is_read_however_the_path_is_spelt(root: Path, written: str) -> None:
    assert read_inside(written, [root]) == "text"


def test_what_refuses_a_path_says_where_it_is_written(root: Path) -> None:
    assert refusal("../secret.txt", root).startswith("eval.yml:7: '../secret.txt' leads out of its folder; ")


@pytest.mark.parametrize(
    "written",
    [
        "../secret.txt",
        "deep/../../secret.txt",
        "deep/er/../../../secret.txt",
        "../repo-two/twin.txt",
        "..",
        "../../../../../../../../etc/passwd",
        "../not/there.txt",
    ],
)
def test_a_path_that_climbs_out_is_refused_whether_or_not_anything_is_there(root: Path, written: str) -> None:
    assert "leads out of its folder" in refusal(written, root)


@pytest.mark.parametrize("written", ["/etc/passwd", "//etc/passwd", "/dev/zero", "/proc/self/environ"])
def test_an_absolute_path_is_refused(root: Path, written: str) -> None:
    assert "is an absolute path" in refusal(written, root)


def test_an_absolute_path_is_refused_even_to_a_file_inside(root: Path) -> None:
    assert "is an absolute path" in refusal(str(root / "deep/er/a.txt"), root)


@pytest.mark.parametrize("written", ["", "  ", "a\x00b"])
def test_what_names_nothing_is_refused(root: Path, written: str) -> None:
    assert "names nothing" in refusal(written, root)


def test_a_home_folder_is_not_looked_up(root: Path) -> None:
    assert "no file '~/.ssh/id_rsa'" in refusal("~/.ssh/id_rsa", root)


@pytest.mark.parametrize("target", ["../secret.txt", "/etc/passwd", "/dev/zero", "../repo-two/twin.txt"])
def test_a_link_that_leads_out_is_refused(root: Path, target: str) -> None:
    (root / "link.txt").symlink_to(target)
    assert "leads out of its folder" in refusal("link.txt", root)


def test_a_folder_that_is_a_link_out_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "way").symlink_to(tmp_path)
    assert "leads out of its folder" in refusal("way/secret.txt", root)


def test_a_chain_of_links_is_followed_to_its_end(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("../secret.txt")
    assert "leads out of its folder" in refusal("one", root)


def test_links_in_a_circle_are_refused(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    assert "cannot be followed" in refusal("one", root)


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    (root / "link.txt").symlink_to("deep/er/a.txt")
    assert read_inside("link.txt", [root]) == "text"
    assert resolve_inside("link.txt", [root]) == root / "deep/er/a.txt"


def test_a_root_that_is_itself_a_link_is_as_good(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    assert read_inside("deep/er/a.txt", [tmp_path / "alias"]) == "text"


def test_a_folder_is_no_file(root: Path) -> None:
    assert "'deep' is a folder" in refusal("deep", root)


def test_a_pipe_is_refused_without_waiting_for_a_writer(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert "is not a regular file" in refusal("pipe", root)


def test_a_socket_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert "is not a regular file" in refusal("s", root)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make device files")
def test_a_device_inside_is_refused(root: Path) -> None:
    os.mknod(root / "zero", 0o20600, os.makedev(1, 5))
    assert "is not a regular file" in refusal("zero", root)


def test_a_large_file_is_refused(root: Path) -> None:
    (root / "large").write_bytes(b"x" * 1_000_001)
    assert "'large' is larger than 1,000,000 bytes" in refusal("large", root)
    assert len(read_inside("large", [root], max_bytes=2_000_000)) == 1_000_001


def test_a_file_in_another_encoding_is_refused_with_its_line(root: Path) -> None:
    (root / "latin").write_bytes(b"one\ntw\xf6\n")
    assert "latin:2: not UTF-8 text" in refusal("latin", root)


def test_a_file_in_the_way_of_a_folder_is_no_file(root: Path) -> None:
    assert "no file 'deep/er/a.txt/b'" in refusal("deep/er/a.txt/b", root)


def test_a_name_too_long_for_the_disk_is_refused(root: Path) -> None:
    assert "cannot be followed" in refusal("x" * 5000, root)


def test_what_is_missing_is_looked_for_in_every_root(root: Path, tmp_path: Path) -> None:
    found = refusal("none.txt", root, tmp_path / "repo-two")
    assert "no file 'none.txt'; looked in " in found
    assert "/repo and " in found


def test_the_first_root_that_has_it_counts(root: Path) -> None:
    (root / "deep/a.txt").write_text("first")
    (root / "deep/er/b.txt").write_text("second")
    assert read_inside("a.txt", [root / "deep", root / "deep/er"]) == "first"
    assert read_inside("b.txt", [root / "deep", root / "deep/er"]) == "second"


def test_a_way_out_of_one_root_may_stay_inside_another(root: Path) -> None:
    assert read_inside("../er/a.txt", [root / "deep/er", root]) == "text"


def test_a_way_out_of_all_roots_is_refused_even_if_a_later_root_has_such_a_file(
    root: Path, tmp_path: Path
) -> None:
    (root / "deep/secret.txt").write_text("decoy")
    assert "leads out of its folder" in refusal("../secret.txt", root, root / "deep/er")


def test_a_folder_swapped_for_a_link_after_the_check_is_not_followed(root: Path, tmp_path: Path) -> None:
    class Sly(type(root)):  # type: ignore[misc]
        """A root whose folder is exchanged between its check and its opening."""

        def resolve(self, strict: bool = False) -> Path:
            if self.was_asked and (root / "deep").is_dir() and not (root / "deep").is_symlink():
                (root / "deep").rename(root / "aside")
                (root / "deep").symlink_to(tmp_path / "repo-two")
            self.was_asked = True
            return root

    (tmp_path / "repo-two/er").mkdir()
    (tmp_path / "repo-two/er/a.txt").write_text("secret")
    sly = Sly(root)
    sly.was_asked = False
    assert "cannot be read" in refusal("deep/er/a.txt", sly)
