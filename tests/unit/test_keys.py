import os
import stat
from pathlib import Path

import pytest

from evalq.errors import InputError, Refused
from evalq.keys import (
    PROVIDER_KEYS,
    environment_with_keys,
    keys_file,
    load_keys,
    remove_key,
    store_key,
    stored_names,
    variable_of,
    without_keys,
)

SECRET = "sk-ant-0123456789"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": "/bin"}


@pytest.fixture
def file(environ: dict[str, str]) -> Path:
    path = keys_file(environ)
    path.parent.mkdir(parents=True)
    path.touch(mode=0o600)
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_file_is_in_the_users_configuration(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert keys_file(home) == tmp_path / ".config" / "evalq" / ".env"
    assert keys_file(home | {"XDG_CONFIG_HOME": str(tmp_path / "c")}) == tmp_path / "c" / "evalq" / ".env"
    assert keys_file(home | {"XDG_CONFIG_HOME": "relative"}) == keys_file(home)
    assert keys_file({}) == Path.home() / ".config" / "evalq" / ".env"


def test_without_a_file_there_are_no_keys_and_the_environment_is_as_it_is(environ: dict[str, str]) -> None:
    assert load_keys(environ) == {}
    assert environment_with_keys(environ) == environ
    assert not keys_file(environ).parent.exists()


def test_a_stored_key_is_read_again_and_only_its_owner_may_read_it(environ: dict[str, str]) -> None:
    path = store_key(environ, "XAI_API_KEY", SECRET)
    assert load_keys(environ) == {"XAI_API_KEY": SECRET}
    assert stored_names(environ) == ["XAI_API_KEY"]
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert [entry.name for entry in path.parent.iterdir()] == [".env"]


def test_a_key_is_private_under_any_umask(environ: dict[str, str]) -> None:
    before = os.umask(0)
    try:
        path = store_key(environ, "XAI_API_KEY", SECRET)
    finally:
        os.umask(before)
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def test_storing_and_removing_leave_the_other_lines_alone(environ: dict[str, str], file: Path) -> None:
    file.write_text("# mine\nA_KEY=1\n\nB_KEY=2\nC_KEY=3\n", "utf-8")
    store_key(environ, "B_KEY", "two")
    store_key(environ, "D_KEY", "4")
    assert file.read_text("utf-8") == "# mine\nA_KEY=1\n\nB_KEY=two\nC_KEY=3\nD_KEY=4\n"
    assert remove_key(environ, "B_KEY")
    assert not remove_key(environ, "B_KEY")
    assert file.read_text("utf-8") == "# mine\nA_KEY=1\n\nC_KEY=3\nD_KEY=4\n"


def test_a_value_with_a_space_is_kept_in_quotes(environ: dict[str, str]) -> None:
    path = store_key(environ, "SEARCH_HEADER", "Bearer abc")
    assert path.read_text("utf-8") == 'SEARCH_HEADER="Bearer abc"\n'
    assert load_keys(environ) == {"SEARCH_HEADER": "Bearer abc"}


def test_removing_what_was_never_stored_writes_nothing(environ: dict[str, str]) -> None:
    assert not remove_key(environ, "A_KEY")
    assert not keys_file(environ).exists()


def test_the_environment_comes_before_the_file_and_an_empty_variable_is_unset(
    environ: dict[str, str], file: Path
) -> None:
    file.write_text("A_KEY=file\nB_KEY=file\nC_KEY=file\n", "utf-8")
    environ |= {"A_KEY": "environment", "B_KEY": " "}
    assert load_keys(environ) == {"A_KEY": "environment", "B_KEY": "file", "C_KEY": "file"}
    assert environment_with_keys(environ) == environ | load_keys(environ)
    assert environ["B_KEY"] == " "


@pytest.mark.parametrize("line", ["A_KEY=v=1#x", 'A_KEY="v=1#x"', "A_KEY='v=1#x'", "  A_KEY=v=1#x  "])
def test_a_value_may_be_quoted_and_hold_any_sign(environ: dict[str, str], file: Path, line: str) -> None:
    file.write_text(line, "utf-8")
    assert load_keys(environ) == {"A_KEY": "v=1#x"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (SECRET, "this line is not NAME=value"),
        (f"A_KEY = {SECRET}", "this line is not NAME=value"),
        (f"export A_KEY={SECRET}", "this line is not NAME=value"),
        (f"{SECRET}=", "this line is not NAME=value"),
        (f"a_key={SECRET}", "this line is not NAME=value"),
        ("A_KEY=", "the value of A_KEY is empty, or has quotes in it"),
        (f"A_KEY={SECRET} # mine", "this line is not NAME=value"),
        (f'A_KEY="{SECRET}', "the value of A_KEY is empty, or has quotes in it"),
        (f"OTHER={SECRET}", "OTHER is written twice"),
        (f"EVALQ_DATABASE_URL={SECRET}", "EVALQ_DATABASE_URL is a setting, not a key"),
    ],
)
def test_a_bad_line_is_told_by_its_number_and_never_shown(
    environ: dict[str, str], file: Path, line: str, told: str
) -> None:
    file.write_text(f"# keys\nOTHER=1\n{line}\n", "utf-8")
    with pytest.raises(InputError) as caught:
        load_keys(environ)
    assert str(caught.value).startswith(f"{file}:3: {told}")
    assert SECRET not in str(caught.value)


def test_every_bad_line_is_told_at_once(environ: dict[str, str], file: Path) -> None:
    file.write_text("a\nA_KEY=1\nb\n", "utf-8")
    with pytest.raises(InputError) as caught:
        load_keys(environ)
    assert [problem.line for problem in caught.value.problems] == [1, 3]


def test_what_is_not_text_is_told_without_showing_it(environ: dict[str, str], file: Path) -> None:
    file.write_bytes(b"A_KEY=\xff\xfe")
    with pytest.raises(InputError, match="this is not UTF-8 text") as caught:
        load_keys(environ)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("loose", [0o640, 0o604, 0o620, 0o644, 0o660, 0o700])
def test_a_file_others_may_touch_is_refused_with_the_remedy(
    environ: dict[str, str], file: Path, loose: int
) -> None:
    file.chmod(loose)
    with pytest.raises(Refused, match=rf"has mode {loose:04o}; close it: chmod 600 '{file}'"):
        load_keys(environ)
    with pytest.raises(Refused):
        store_key(environ, "A_KEY", SECRET)


def test_a_file_nobody_may_write_is_fine(environ: dict[str, str], file: Path) -> None:
    file.chmod(0o400)
    assert load_keys(environ) == {}


def test_a_file_of_somebody_else_is_refused(
    environ: dict[str, str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    with pytest.raises(Refused, match="belongs to another user; make it yours: chown"):
        load_keys(environ)


def test_a_linked_file_stays_a_link_to_one_just_as_private(environ: dict[str, str], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.touch(mode=0o600)
    keys_file(environ).parent.mkdir(parents=True)
    keys_file(environ).symlink_to(real)
    store_key(environ, "A_KEY", SECRET)
    assert keys_file(environ).is_symlink()
    assert (real.read_text("utf-8"), mode(real)) == (f"A_KEY={SECRET}\n", 0o600)


def test_a_folder_in_the_place_of_the_file_is_told(environ: dict[str, str]) -> None:
    keys_file(environ).mkdir(parents=True)
    with pytest.raises(InputError, match=rf"^{keys_file(environ)}: Is a directory"):
        load_keys(environ)


def test_a_file_in_the_place_of_the_folder_is_told(environ: dict[str, str]) -> None:
    (Path(environ["HOME"]) / ".config").touch()
    with pytest.raises(InputError, match="Not a directory"):
        store_key(environ, "A_KEY", SECRET)


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(
    environ: dict[str, str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("A_KEY=old\n", "utf-8")

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InputError, match="No space left on device"):
        store_key(environ, "A_KEY", SECRET)
    assert file.read_text("utf-8") == "A_KEY=old\n"
    assert [entry.name for entry in file.parent.iterdir()] == [".env"]


@pytest.mark.parametrize("value", ["", " ", "line\nbreak", 'quo"te', "ключ", "\x07"])
def test_what_no_key_can_be_is_not_stored_nor_shown(environ: dict[str, str], value: str) -> None:
    with pytest.raises(InputError, match="this is not a key for A_KEY") as caught:
        store_key(environ, "A_KEY", value)
    assert not value.strip() or value not in str(caught.value)
    assert not keys_file(environ).exists()


@pytest.mark.parametrize(
    ("given", "variable"), [*PROVIDER_KEYS.items(), ("XAI", "XAI_API_KEY"), ("MY_K", "MY_K")]
)
def test_a_key_is_named_by_its_provider_or_its_variable(given: str, variable: str) -> None:
    assert variable_of(given) == variable


@pytest.mark.parametrize("given", ["mistral", SECRET, "1_KEY", "", "EVALQ_DATABASE_URL"])
def test_anything_else_names_no_key_and_is_not_repeated(given: str) -> None:
    with pytest.raises(InputError) as caught:
        variable_of(given)
    assert SECRET not in str(caught.value)


SECRETS_OF_OTHERS = (
    "EVALQ_VAR_TOKEN",
    "EVALQ_REVIEW_TOKEN",
    "EVALQ_FLOWER_AUTH",
    "EVALQ_JUDGES",
    "EVALQ_ALERTS",
    "LC_SECRET",
    "OPENAI_API_KEY",
    "PGPASSWORD",
    "AWS_SESSION_TOKEN",
    "EVALQ_ANYTHING_NEW",
)


@pytest.mark.parametrize("name", SECRETS_OF_OTHERS)
def test_the_sandbox_worker_sees_no_secret_of_the_environment(name: str) -> None:
    kept = without_keys({name: "s3cret", "PATH": "/bin", "EVALQ_DATABASE_URL": "postgresql://h/d"})
    assert "s3cret" not in kept.values()
    assert set(kept) == {"PATH", "EVALQ_DATABASE_URL", "XDG_CONFIG_HOME"}
