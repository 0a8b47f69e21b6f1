import json
from decimal import Decimal
from pathlib import Path

import pytest

from evalq.engines.broker import make_app
from evalq.errors import InputError
from evalq.settings import (
    Settings,
    data_dir,
    load_settings,
    other_data_folders,
    project_root,
    spool_dir,
    user_data_dir,
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_settings(root: Path, text: str) -> None:
    (root / "evalq.yaml").write_text(text, "utf-8")


def problems_of(root: Path, **environ: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_settings(root, environ)
    return [str(problem) for problem in caught.value.problems]


def test_nothing_written_means_the_defaults(root: Path) -> None:
    settings = load_settings(root, {"EVALQ_BROKER_URL": "", "EVALQ_DISPLAY": " "})
    assert settings == Settings()
    assert (settings.max_cost_usd, settings.fleet.slots, settings.display) == (Decimal(5), None, "auto")


@pytest.mark.parametrize("text", ["", "# nothing set\n", "judges: {}\n"])
def test_an_empty_file_means_the_defaults(root: Path, text: str) -> None:
    write_settings(root, text)
    assert load_settings(root, {}) == Settings()


def test_the_file_of_a_parent_folder_counts(root: Path) -> None:
    write_settings(root, "max_cost_usd: 0.1\nfleet: {processes: 4}\n")
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    settings = load_settings(inner, {})
    assert (settings.max_cost_usd, settings.fleet.processes, settings.fleet.slots) == (
        Decimal("0.1"),
        4,
        None,
    )


def test_the_nearest_file_counts_alone(root: Path) -> None:
    write_settings(root, "max_cost_usd: 1\ndisplay: plain\n")
    (root / "inner").mkdir()
    write_settings(root / "inner", "max_cost_usd: 2\n")
    settings = load_settings(root / "inner", {})
    assert (settings.max_cost_usd, settings.display) == (Decimal(2), "auto")


def test_every_setting_has_a_twin_in_the_environment(root: Path) -> None:
    judge = {"provider": "simulated", "model": "m"}
    environ = {
        "EVALQ_DATABASE_URL": "postgresql://me@host/db",
        "EVALQ_BROKER_URL": "redis://host",
        "EVALQ_MAX_COST_USD": "2.50",
        "EVALQ_CAPS_PER_DAY_USD": "20",
        "EVALQ_CAPS_PER_PROVIDER_USD": '{"xai": 5}',
        "EVALQ_FLEET_PROCESSES": "3",
        "EVALQ_FLEET_SLOTS": " 8 ",
        "EVALQ_FLEET_LEASE_S": "2.5",
        "EVALQ_FLEET_DRAIN_S": "30",
        "EVALQ_FLEET_MEMORY_MB": "800",
        "EVALQ_FLEET_DEAD_AFTER_S": "90",
        "EVALQ_FLEET_MESSAGES": "plain",
        "EVALQ_AMBIGUOUS_REPEATS": "0",
        "EVALQ_GRADER_MODEL": "haiku-4.5",
        "EVALQ_DEFAULT_JUDGES": "haiku-4.5, grok-4.3",
        "EVALQ_SPOOL_DIR": "~/spool",
        "HOME": "/home/me",
        "EVALQ_JUDGES": json.dumps({"mine": judge}),
        "EVALQ_DRIFT": '[{"task": "t", "eval_set": "s"}]',
        "EVALQ_ALERTS": '[{"command": ["true"]}]',
        "EVALQ_DATA_DIR": "here",
        "EVALQ_DISPLAY": "none",
        "EVALQ_LOG_FORMAT": "json",
        "EVALQ_SANDBOX": "unsafe",
    }
    settings = load_settings(root, environ)
    assert settings.model_fields_set == set(Settings.model_fields)
    assert settings.fleet.model_fields_set == set(type(settings.fleet).model_fields)
    assert (settings.fleet.lease_s, settings.fleet.lost_after_s, settings.fleet.drain_s) == (2.5, 0.625, 30)
    assert (settings.ambiguous_repeats, settings.spool_dir) == (0, Path("/home/me/spool"))
    assert settings.caps
    assert settings.caps.scopes() == {"day": Decimal(20), "provider:xai": Decimal(5)}
    assert (settings.max_cost_usd, settings.fleet.slots, settings.judges["mine"].name) == (
        Decimal("2.50"),
        8,
        "mine",
    )


def test_answers_are_spooled_in_the_data_folder_unless_another_is_set(root: Path) -> None:
    settings = load_settings(root, {"EVALQ_DATA_DIR": "here"})
    assert spool_dir(settings, root, {}) == root / "here" / "spool"
    assert spool_dir(load_settings(root, {"EVALQ_SPOOL_DIR": "there"}), root, {}) == root / "there"


@pytest.mark.parametrize("text", ["soon", "-1", "0", "1e3"])
def test_a_lease_is_a_plain_number_of_seconds(root: Path, text: str) -> None:
    assert "EVALQ_FLEET_LEASE_S" in problems_of(root, EVALQ_FLEET_LEASE_S=text)[0]


def test_the_environment_goes_over_the_file_entry_by_entry(root: Path) -> None:
    write_settings(
        root,
        "fleet: {processes: 4, slots: 9}\njudges:\n  a: {provider: simulated, model: file}\n  b: "
        "{provider: simulated, model: file}\n",
    )
    judges = json.dumps({"b": {"provider": "simulated", "model": "env"}})
    settings = load_settings(root, {"EVALQ_FLEET_SLOTS": "1", "EVALQ_JUDGES": judges})
    assert (settings.fleet.processes, settings.fleet.slots) == (4, 1)
    assert [judge.model for judge in settings.judges.values()] == ["file", "env"]


@pytest.mark.parametrize("url", ["postgres://h/d", "postgresql://u:p@h:1/d"])
def test_database_addresses(root: Path, url: str) -> None:
    assert load_settings(root, {"EVALQ_DATABASE_URL": url}).database_url == url


VERIFIED = "ssl_cert_reqs=CERT_REQUIRED"


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("redis://h", "redis://h"),
        ("redis+socket:///tmp/s", "redis+socket:///tmp/s"),
        ("valkey://:p@h:1/0", "redis://:p@h:1/0"),
        ("rediss://h", f"rediss://h?{VERIFIED}"),
        ("valkeys://h/0?a=b", f"rediss://h/0?a=b&{VERIFIED}"),
        ("rediss://h?ssl_cert_reqs=CERT_NONE", "rediss://h?ssl_cert_reqs=CERT_NONE"),
    ],
)
def test_a_broker_address_is_one_that_celery_opens(root: Path, written: str, url: str) -> None:
    assert load_settings(root, {"EVALQ_BROKER_URL": written}).broker_url == url
    assert make_app(url).backend.connparams


def test_a_unix_socket_is_written_as_celery_writes_it(root: Path) -> None:
    (problem,) = problems_of(root, EVALQ_BROKER_URL="unix:///s")
    assert "redis+socket://" in problem


def test_a_wrong_address_says_how_it_begins_and_hides_the_password(root: Path) -> None:
    write_settings(root, "database_url: mysql://me:hunter2@host/db\n")
    problems = problems_of(root, EVALQ_BROKER_URL="amqp://me:hunter2@host")
    assert problems[0].startswith(
        "evalq.yaml:1: database_url: does not begin with postgresql:// or postgres://; write e.g. postgresql://"
    )
    assert problems[1].startswith("EVALQ_BROKER_URL: broker_url: does not begin with redis://")
    assert "hunter2" not in "".join(problems)


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        (
            "EVALQ_MAX_COST_USD",
            "much",
            "max_cost_usd: 'much' is not an amount of dollars; write for",
        ),
        ("EVALQ_MAX_COST_USD", "nan", "max_cost_usd: 'nan' is not a finite amount of dollars"),
        ("EVALQ_MAX_COST_USD", "-1", "max_cost_usd: '-1' is out of range; give 0 to 99999999 dollars"),
        ("EVALQ_FLEET_PROCESSES", "two", "fleet.processes should be a whole number, but is text"),
        ("EVALQ_FLEET_PROCESSES", "²", "fleet.processes should be a whole number, but is text"),
        ("EVALQ_FLEET_SLOTS", "0", "fleet.slots: it should be greater than or equal to 1"),
        ("EVALQ_DISPLAY", "pretty", "display cannot be 'pretty'; write 'auto', 'rich', 'plain' or 'none'"),
        ("EVALQ_SANDBOX", "weak", "sandbox cannot be 'weak'; write 'strong' or 'unsafe'"),
        ("EVALQ_JUDGES", "[]", "judges should be a mapping, but is a list"),
        ("EVALQ_JUDGES", '{"a": 3}', "judges.a should be a mapping, but is a whole number"),
    ],
)
def test_a_wrong_variable_is_named(root: Path, variable: str, text: str, message: str) -> None:
    (problem,) = problems_of(root, **{variable: text})
    assert problem.startswith(f"{variable}: {message}")


def test_judges_in_broken_json_are_refused(root: Path) -> None:
    assert problems_of(root, EVALQ_JUDGES="{oops")[0].startswith("EVALQ_JUDGES:1: not JSON: ")


def test_problems_of_file_and_environment_come_together(root: Path) -> None:
    write_settings(root, "max_cost: 5\nfleet: {slots: many}\n")
    problems = problems_of(root, EVALQ_DISPLAY="loud")
    assert problems[0].startswith("evalq.yaml:1: unknown key 'max_cost'; did you mean 'max_cost_usd'?")
    assert problems[1].startswith("evalq.yaml:2: fleet.slots should be a whole number, but is text")
    assert problems[2].startswith("EVALQ_DISPLAY: display cannot be 'loud'")


def test_a_file_that_is_no_mapping_is_refused(root: Path) -> None:
    write_settings(root, "- a\n")
    assert problems_of(root)[0].startswith("evalq.yaml:1: the file should be a mapping")


def test_a_judge_s_key_is_its_name(root: Path) -> None:
    write_settings(root, "judges:\n  a: {name: b, provider: simulated, model: m}\n")
    (problem,) = problems_of(root)
    assert (
        problem == "evalq.yaml:1: judges: judge 'a' has another name inside; remove that, the key is the name"
    )


def test_a_parameter_without_a_bound_is_refused_where_it_is_written(root: Path) -> None:
    write_settings(
        root,
        "judges:\n  mine:\n    provider: openai\n    model: m\n    params: {max_tokens: null, best_of: 2}\n",
    )
    [problem] = problems_of(root)
    assert problem.startswith("evalq.yaml:5: judges.mine.params: the parameter 'max_tokens' is null")


def test_the_root_is_the_folder_of_the_settings_file(root: Path) -> None:
    (root / "a" / "tasks").mkdir(parents=True)
    write_settings(root, "")
    assert project_root(root / "a") == root


def test_without_a_settings_file_the_root_has_a_tasks_folder(root: Path) -> None:
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    assert project_root(inner) == inner
    (root / "tasks").mkdir()
    assert project_root(inner) == root


def test_a_folder_called_like_the_settings_file_is_passed_over(root: Path) -> None:
    (root / "evalq.yaml").mkdir()
    assert load_settings(root, {}) == Settings()


@pytest.mark.parametrize("sign", ["tasks", ".evalq", "evalq.yaml", "anything"])
def test_no_file_that_is_written_later_moves_the_data_folder(root: Path, sign: str) -> None:
    environ = {"HOME": str(root / "home")}
    before = data_dir(Settings(), root, environ)
    before.mkdir(parents=True)
    (root / "inner").mkdir()
    for place in (root, root / "inner"):
        (place / sign).mkdir(exist_ok=True)
    assert before == data_dir(Settings(), root, environ) == root / ".evalq"


@pytest.mark.parametrize("sign", ["tasks", "evalq.yaml"])
def test_a_new_project_keeps_its_data_beside_its_tasks(root: Path, sign: str) -> None:
    (root / "inner").mkdir()
    (root / sign).mkdir() if sign == "tasks" else write_settings(root, "")
    environ = {"HOME": str(root / "home")}
    assert data_dir(Settings(), root / "inner", environ) == root / ".evalq"


def test_data_in_the_user_s_folder_stay_in_use_until_a_project_has_its_own(root: Path) -> None:
    environ = {"HOME": str(root / "home")}
    shared = root / "home/.local/share/evalq"
    (shared / "postgres").mkdir(parents=True)
    (root / "tasks").mkdir()
    assert data_dir(Settings(), root, environ) == shared
    (root / ".evalq" / "postgres").mkdir(parents=True)
    assert data_dir(Settings(), root, environ) == root / ".evalq"
    assert other_data_folders(root / ".evalq", root, environ) == [shared]


def test_the_user_s_folder_follows_the_xdg_specification(root: Path) -> None:
    environ = {"HOME": str(root / "home")}
    assert user_data_dir(environ) == root / "home/.local/share/evalq"
    assert user_data_dir(environ | {"XDG_DATA_HOME": str(root / "x")}) == root / "x" / "evalq"
    assert user_data_dir(environ | {"XDG_DATA_HOME": "x"}) == root / "home/.local/share/evalq"


@pytest.mark.parametrize(
    ("written", "meant"), [("store", "proj/store"), ("~/store", "home/store"), ("/abs/store", "/abs/store")]
)
def test_a_data_folder_in_the_file_is_counted_from_it(root: Path, written: str, meant: str) -> None:
    (root / "proj" / "inner").mkdir(parents=True)
    write_settings(root / "proj", f"data_dir: {written}\n")
    environ = {"HOME": str(root / "home")}
    settings = load_settings(root / "proj" / "inner", environ)
    assert data_dir(settings, root, environ) == root / meant


def test_a_data_folder_in_the_environment_is_counted_from_here(root: Path) -> None:
    settings = load_settings(root, {"EVALQ_DATA_DIR": "store"})
    assert data_dir(settings, root / "elsewhere", {}) == root / "store"
