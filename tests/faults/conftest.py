"""Scenes for the fault tests, what a fault-free run comes to, and the table of what every fault did."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from fault_oracle import Tally, report, tally
from fault_scene import Scene, open_scene, prepare_folder
from forks import Forks

COLUMNS = (
    "fault",
    "runs",
    "lost",
    "duplicate rows",
    "early or double",
    "repeated calls",
    "overspend",
    "verdict",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults-long", action="store_true", help="20 seeds of 200 jobs, and one run of 5,000.")
    parser.addoption("--faults-seed", type=int, help="Replay one random schedule.")


@pytest.fixture(scope="session")
def is_long(request: pytest.FixtureRequest) -> bool:
    """Whether the long form was asked for."""
    return bool(request.config.getoption("--faults-long"))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder to copy."""
    folder = tmp_path_factory.mktemp("t") / "d"
    prepare_folder(folder)
    return folder


@pytest.fixture
def new_scene(
    template: Path, forks: Forks, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Scene]]:
    """Opens scenes of so many cases; they are closed after the test."""
    with ExitStack() as stack:

        def make(n_cases: int, **fields: Any) -> Scene:
            folder = tmp_path_factory.mktemp("f")
            return stack.enter_context(open_scene(template, folder, forks, n_cases=n_cases, **fields))

        yield make


@pytest.fixture(scope="session")
def fault_free(
    template: Path, forks: Forks, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], Any]:
    """The report of a bake-off on so many cases to which nothing happened."""
    known: dict[int, Any] = {}

    def run(n_cases: int) -> Any:
        if n_cases not in known:
            folder = tmp_path_factory.mktemp("f")
            with open_scene(template, folder, forks, n_cases=n_cases, latency_ms=0) as scene:
                scene.start()
                bakeoff_id = scene.bake(scene.plan(n_cases))
                assert scene.wait_for_end(bakeoff_id) == "concluded"
                assert tally(scene, bakeoff_id, allowed_repeats=0) == Tally()
                known[n_cases] = report(scene, bakeoff_id)
        return known[n_cases]

    return run


@pytest.fixture
def judged(request: pytest.FixtureRequest, fault_free: Callable[[int], Any]) -> Callable[..., Tally]:
    """Weighs a scene's bake-off against the invariants, notes it for the table, and wants it clean."""

    def weigh(
        scene: Scene,
        bakeoff_id: int,
        *,
        fault: str,
        same_as: int | None = None,
        allowed_repeats: int | None = 0,
    ) -> Tally:
        expected = None if same_as is None else fault_free(same_as)
        found = tally(scene, bakeoff_id, expected=expected, allowed_repeats=allowed_repeats)
        request.node.user_properties.append(("fault", {"fault": fault, **asdict(found)}))
        assert found.is_clean, f"{fault}: {found}\n{scene.describe()}"
        return found

    return weigh


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line per fault, summed over its runs."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, [])]
    rows = [
        value for one in reports for name, value in getattr(one, "user_properties", []) if name == "fault"
    ]
    if rows:
        terminalreporter.section("faults")
        for line in _table(rows):
            terminalreporter.write_line(line)


def _table(rows: list[dict[str, Any]]) -> list[str]:
    lines = [COLUMNS]
    for fault in sorted({row["fault"] for row in rows}):
        of = [row for row in rows if row["fault"] == fault]
        total = {key: sum(row[key] for row in of) for key in of[0] if key != "fault"}
        journalled = (
            "all journalled" if not total["unjournalled"] else f"{total['unjournalled']} NOT journalled"
        )
        is_kept = not any(count for key, count in total.items() if key != "repeated")
        lines.append(
            (
                fault,
                str(len(of)),
                str(total["lost"] + total["invented"]),
                str(total["duplicates"]),
                str(total["early"]),
                f"{total['repeated']} ({journalled})" if total["repeated"] else "0",
                str(total["overspent"] + total["uncounted"]),
                "kept" if is_kept else "BROKEN",
            )
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
