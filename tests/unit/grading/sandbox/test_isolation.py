from pathlib import Path

from evalq.grading.sandbox.isolation import bwrap_version, confine, find_bwrap

ARGV = confine(Path("/usr/bin/bwrap"), ["python", "-c", "…"], shown={Path("/in"): Path("/out")}, filter_fd=7)


def test_everything_is_unshared_and_nothing_of_the_environment_goes_in() -> None:
    assert {"--unshare-all", "--disable-userns", "--clearenv", "--die-with-parent", "--as-pid-1"} <= set(ARGV)
    assert "--share-net" not in ARGV


def test_nothing_is_bound_for_writing_and_the_root_is_sealed() -> None:
    assert not {"--bind", "--bind-try", "--proc", "--dev"} & set(ARGV)
    assert ARGV[ARGV.index("--remount-ro") + 1] == "/"
    devices = [ARGV[at + 1] for at, word in enumerate(ARGV) if word == "--dev-bind"]
    assert devices == ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"]


def test_folders_in_memory_are_small() -> None:
    sizes = [int(ARGV[at + 1]) for at, word in enumerate(ARGV) if word == "--size"]
    assert len(sizes) == ARGV.count("--tmpfs")
    assert sum(sizes) == 17 * 2**20


def test_the_command_comes_last_with_its_folder_and_filter_shown() -> None:
    assert ARGV[-4:] == ["--", "python", "-c", "…"]
    assert ARGV[ARGV.index("/out") - 1 :][:3] == ["--ro-bind", "/out", "/in"]
    assert ARGV[ARGV.index("--seccomp") + 1] == "7"


def test_without_a_filter_none_is_named() -> None:
    assert "--seccomp" not in confine(Path("bwrap"), ["x"], shown={})


def test_it_is_looked_for_on_the_given_path_only(tmp_path: Path) -> None:
    assert find_bwrap(None) is None
    assert find_bwrap(str(tmp_path)) is None
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho bubblewrap 0.6.1\n")
    program.chmod(0o755)
    assert find_bwrap(str(tmp_path)) == program
    assert bwrap_version(program) == (0, 6, 1)


def test_a_program_that_says_no_version_has_none(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    assert bwrap_version(program) == ()
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    assert bwrap_version(program) == ()
