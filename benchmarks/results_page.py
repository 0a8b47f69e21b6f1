"""Measured series as Markdown: ratios first, then every figure; and the few lines that the README quotes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.measurement import Measurement, Series, Workload

MARKERS = ("<!-- bench -->", "<!-- /bench -->")
_SHOWN_COMMANDS = 8


@dataclass(frozen=True)
class Setting:
    """Where and when figures were taken; `loop_s` is the machine's speed before and after."""

    date: str
    machine: str
    loop_s: tuple[float, float]
    versions: Mapping[str, str]
    absent: Mapping[str, str]


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are aligned right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def render_page(setting: Setting, series: Sequence[Series], sections: Sequence[str] = ()) -> str:
    """The whole page; `sections` are those of other measurements, ready to be added."""
    parts = ["# What `make bench` measured", render_setting(setting)]
    parts += ["## evalq beside its peers", render_ratios(series)]
    for workload in dict.fromkeys(one.workload for one in series):
        mine = [one for one in series if one.workload == workload]
        parts += [f"## {workload.describe()}", render_workload(mine)]
        parts += [render_evalq(one) for one in mine if one.contender == "evalq" and one.runs]
    return "\n\n".join([*parts, *sections]) + "\n"


def render_setting(setting: Setting) -> str:
    """Date, machine, speed, versions, and how to read the figures."""
    before, after = setting.loop_s
    versions = ", ".join(f"{name} {version}" for name, version in setting.versions.items())
    lines = [
        f"{setting.date}, {setting.machine}.",
        f"A fixed Python loop took {before:.3f} s before and {after:.3f} s after. {versions}.",
        "Medians of as many runs as the tables say; evalq has one before each run of a peer. The mock is on",
        "the same machine. × ideal is wall time from the command to its end, table printed, over calls ×",
        "latency / calls at once. evalq starts with an empty data folder and brings Postgres, Valkey and its",
        "workers; their CPU and memory are in its figures.",
    ]
    lines += [f"Not measured: {name} ({reason})." for name, reason in setting.absent.items()]
    return "\n".join(lines)


def render_ratios(series: Sequence[Series]) -> str:
    """A line per workload: each contender's × ideal, and how many times evalq's wall time that is."""
    contenders = list(dict.fromkeys(one.contender for one in series))
    rows = []
    for workload in dict.fromkeys(one.workload for one in series):
        mine = {one.contender: one for one in series if one.workload == workload}
        rows.append([workload.name, *(_compare(mine.get(name), mine.get("evalq")) for name in contenders)])
    return render_table(["× ideal (× evalq)", *contenders], rows)


def _compare(one: Series | None, evalq: Series | None) -> str:
    if one is None or not one.runs:
        return "–"
    times = one.median(lambda run: run.times_ideal)
    if one is evalq or evalq is None or not evalq.runs:
        return f"{times:.2f}"
    return f"{times:.2f} ({times / evalq.median(lambda run: run.times_ideal):.2f})"


_COLUMNS = (
    "contender",
    "× ideal",
    "least–most",
    "CPU ms a call",
    "peak in flight",
    "memory MB",
    "calls seen",
    "asked twice",
    "first call s",
    "end after last answer s",
    "runs",
    "incomplete",
)


def render_workload(series: Sequence[Series]) -> str:
    """Every figure of every contender on one workload."""
    return render_table(_COLUMNS, [_row(one) for one in series])


def _row(one: Series) -> list[str]:
    least, most = one.spread(lambda run: run.times_ideal)
    return [
        one.contender,
        _show(one.median(lambda run: run.times_ideal), 2),
        f"{_show(least, 2)}–{_show(most, 2)}",
        _show(one.median(lambda run: run.cpu_ms_a_call), 2),
        _show(one.median(lambda run: run.peak_in_flight)),
        _show(one.median(lambda run: run.peak_total_mb)),
        _show(one.median(lambda run: run.calls)),
        str(one.asked_twice),
        _show(one.median(lambda run: run.first_call_s), 2),
        _show(one.median(lambda run: run.after_last_answer_s), 2),
        str(len(one.runs)),
        str(one.n_incomplete),
    ]


def _show(number: float, digits: int = 0) -> str:
    return "–" if number != number else f"{number:,.{digits}f}"


def render_evalq(one: Series) -> str:
    """Where evalq's CPU, memory and round trips go."""
    calls = one.workload.calls
    cpu = one.median_by_part(lambda run: run.cpu_s)
    memory = one.median_by_part(lambda run: run.peak_rss_mb)
    cpu_words = ", ".join(f"{part} {spent * 1000 / calls:.2f}" for part, spent in cpu.items())
    memory_words = ", ".join(f"{part} {size:.0f}" for part, size in memory.items())
    quiet_s = one.median(lambda run: run.quiet_s - run.wall_s)
    lines = [
        f"- evalq's CPU ms a call: {cpu_words}",
        f"- its largest process of each kind, MB: {memory_words}",
        f"- SQL transactions per 1,000 jobs: {_per_thousand(one, lambda run: run.transactions):.0f}",
        f"- Valkey commands per 1,000 jobs, those inside scripts too: {_describe_commands(one)}",
        f"- its processes are gone {quiet_s:.2f} s after the command",
    ]
    return "\n".join(lines)


def _per_thousand(one: Series, get: Callable[[Measurement], float]) -> float:
    return one.median(get) * 1000 / one.workload.calls


def _describe_commands(one: Series) -> str:
    total = _per_thousand(one, lambda run: sum(run.valkey_commands.values()))
    by_command = one.median_by_part(lambda run: run.valkey_commands)
    shown = [
        f"{name} {count * 1000 / one.workload.calls:.0f}"
        for name, count in list(by_command.items())[:_SHOWN_COMMANDS]
    ]
    return f"{total:.0f} ({', '.join(shown)})"


def render_growth(title: str, series: Mapping[str, Series]) -> str:
    """How wall time and memory grow along one axis."""
    rows = []
    for name, one in series.items():
        rows.append(
            [
                name,
                _show(one.median(lambda run: run.times_ideal), 2),
                _show(one.median(lambda run: run.wall_s * 1000 / run.workload.calls), 2),
                _show(one.median(lambda run: run.cpu_ms_a_call), 2),
                _show(one.median(lambda run: run.peak_total_mb)),
                _show(one.median(lambda run: run.peak_in_flight)),
                str(one.asked_twice),
            ]
        )
    head = ["", "× ideal", "wall ms a call", "CPU ms a call", "memory MB", "peak in flight", "asked twice"]
    return f"## {title}\n\n{render_table(head, rows)}"


def render_quote(setting: Setting, series: Sequence[Series]) -> str:
    """The few lines for the README: one per workload, evalq first, as multiples of the ideal."""
    lines = []
    for workload in dict.fromkeys(one.workload for one in series):
        mine = {one.contender: one for one in series if one.workload == workload and one.runs}
        shown = [f"{name} {one.median(lambda run: run.times_ideal):.2f}" for name, one in mine.items()]
        lines.append(f"- {_describe_briefly(workload)}, wall over ideal: {', '.join(shown)}")
    cores = setting.machine.partition(",")[0]
    source = "[benchmarks/RESULTS.md](benchmarks/RESULTS.md)"
    lines.append(f"- medians, {setting.date}, {cores}; all figures: {source}")
    return "\n".join(lines)


def _describe_briefly(workload: Workload) -> str:
    return f"{workload.name} {workload.calls:,} × {workload.latency_ms} ms, {workload.at_once:,} at once"


def replace_quote(text: str, quote: str) -> str:
    """The text with the quote between its markers; ValueError unless each marker is there once, in order."""
    opening, closing = MARKERS
    if text.count(opening) != 1 or text.count(closing) != 1 or text.index(opening) > text.index(closing):
        raise ValueError(f"the text must have {opening} and {closing} once each, in this order")
    before, _, rest = text.partition(opening)
    after = rest.partition(closing)[2]
    return f"{before}{opening}\n{quote}\n{closing}{after}"
