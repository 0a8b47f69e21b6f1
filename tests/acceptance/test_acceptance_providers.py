"""Judges behind every protocol at once: the provider's ledger, the journal and the report tell one story."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any
from urllib.request import Request, urlopen

import pytest
from patience import PATIENCE_S

from evalq.engines.processes import wait_until
from evalq.engines.simulator.process import Simulator, running_simulator

TASK = """\
name: capitals
system_prompt: Answer with one word.
user_template: 'What is the capital of {country}? If you do not know, say "{hint}".'
scoring:
  mode: llm_judge
  judge_model: marker
  pass_rule: exact_match
  rubric: "Expected: {expected}. Answer: {answer}. Reply with VALID or INVALID."
max_tokens: 16
"""
KEYS = {
    "ANTHROPIC_API_KEY": "sk-a",
    "GEMINI_API_KEY": "sk-g",
    "XAI_API_KEY": "sk-x",
    "RAG_KEY": "sk-r",
    "GPT_KEY": "sk-o",
}
# Dollars per million: a token in is a millionth, a token out a thousandth, so that sums show both.
PRICE = {"input": 1, "output": 1000}
PROFILES: dict[str, Any] = {
    "claude": {"answer": "cases", "rpm": 6000, "input_tpm": 90_000_000},
    "gpt": {"fixed": "Nowhere", "rpm": 6000},
    "gemini": {},
    "grok": {"answer": "cases", "thinking_tokens": 5},
    "rag": {},
    "marker": {"answer": "cases"},
    "flaky": {"schedule": ["503", "ok"]},
    "gone": {"faults": {"404": 1}},
    "locked": {"require_key": "another key"},
    "filed": {"require_key": "sk-new"},
}
PASSES = {"claude": 8, "gpt": 0, "gemini": 4, "grok": 8, "rag": 4, "program": 8, "function": 8}
SCRIPT = """\
import json, sys
print(json.dumps({"answer": json.load(sys.stdin)["inputs"]["country"].replace("country", "capital")}))
"""
FUNCTION = """\
def capital(inputs):
    return inputs["country"].replace("country", "capital")
"""
BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-8", "--judges")
FEW = ("bake-off", "--task", "capitals", "--eval-set", "dev-3", "--scorer", "strict_substring", "--judges")
SMOKE = ("verify", "--smoke", "--task", "capitals", "--eval-set", "dev-3", "--judges")
SETTLED = (
    "SELECT judge, key FROM call_journal WHERE bakeoff_id = %s AND state = 'settled' AND provider = ANY(%s)"
)
BILLED = (
    "SELECT judge, sum(input_tokens), sum(output_tokens) FROM completions JOIN jobs ON jobs.id = job_id "
    "JOIN runs ON runs.id = run_id WHERE runs.bakeoff_id = %s GROUP BY judge"
)
PAID = "SELECT judge, sum(cost_usd) FROM call_journal WHERE bakeoff_id = %s GROUP BY judge"


def cases(n_cases: int) -> str:
    """Cases with a hint that is right in every second one."""
    return json.dumps(
        {
            "cases": [
                {
                    "id": f"c{i}",
                    "inputs": {"country": f"country {i}", "hint": f"capital {i}" if i % 2 else "Nowhere"},
                    "expected": {"answer": f"capital {i}"},
                }
                for i in range(n_cases)
            ]
        }
    )


def judges(sim: Simulator) -> dict[str, dict[str, Any]]:
    """One judge per protocol and kind, all but two of them answered by the simulator."""
    openai = {"provider": "openai", "base_url": sim.openai_url, "price": PRICE}
    messages = [{"role": "user", "content": "{user}"}]
    return {
        "claude": {"provider": "anthropic", "model": "claude", "base_url": sim.url, "price": PRICE},
        "gpt": {**openai, "model": "gpt", "api_key_env": "GPT_KEY"},
        "gemini": {"provider": "google", "model": "gemini", "base_url": sim.url, "price": PRICE},
        "grok": {"provider": "xai", "model": "grok", "base_url": sim.openai_url, "price": PRICE},
        "rag": {
            "provider": "http",
            "url": f"{sim.openai_url}/chat/completions",
            "body": {"model": "rag", "messages": messages},
            "headers_env": {"authorization": "RAG_KEY"},
            "answer": "$.choices[0].message.content",
        },
        "program": {"provider": "command", "command": [sys.executable, "script.py"]},
        "function": {"provider": "python", "callable": "answers:capital"},
        **{name: {**openai, "model": name} for name in ("marker", "flaky", "gone")},
        "locked": {**openai, "model": "locked", "api_key_env": "GPT_KEY"},
        "filed": {**openai, "model": "filed", "api_key_env": "FILED_KEY"},
        "unpriced": {"provider": "openai", "model": "gemini", "base_url": sim.openai_url},
    }


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any]) -> Any:
    """A task graded by a model, cases with hints, and judges that are programs of the user's own."""
    project = new_project()
    project.settings = {**KEYS, "XDG_CONFIG_HOME": str(project.folder / "config")}
    project.write("tasks/capitals.yaml", TASK)
    project.write("evalsets/capitals/dev-8.json", cases(8))
    project.write("evalsets/capitals/dev-3.json", cases(3))
    project.write("script.py", SCRIPT)
    project.write("answers.py", FUNCTION)
    return project


@pytest.fixture(scope="module")
def sim(project: Any) -> Iterator[Simulator]:
    """The provider of them all, which knows the cases."""
    files = ("tasks/capitals.yaml", "evalsets/capitals/dev-8.json")
    task, eval_set = (str(project.folder / file) for file in files)
    known = [{"task": task, "eval_set": eval_set}]
    with running_simulator({"profiles": PROFILES, "cases": known}) as simulator:
        settings = {"fleet": {"processes": 1, "slots": 16}, "judges": judges(simulator)}
        project.write("evalq.yaml", json.dumps(settings))
        yield simulator


@pytest.fixture(scope="module")
def baked(sim: Simulator, served: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The project, its first bake-off with every kind of judge, and what the provider billed for it."""
    document = served.bake(*BAKE, ",".join(PASSES))
    return served, document, sim.ledger()


def dollars(tally: dict[str, int]) -> Decimal:
    """What the provider's account comes to at the judges' price."""
    return (
        tally["input_tokens"] * Decimal(PRICE["input"]) + tally["output_tokens"] * PRICE["output"]
    ) / 10**6


def test_judges_of_every_protocol_are_graded_by_a_model_and_come_out_as_built(baked: Any) -> None:
    _, document, _ = baked
    found = {run["judge"]: (run["n_pass"], run["n_fail"], run["n_error"]) for run in document["runs"]}
    assert (document["state"], document["partial"]) == ("concluded", False)
    assert found == {name: (passes, 8 - passes, 0) for name, passes in PASSES.items()}


def test_the_journal_has_a_settled_row_for_every_request_the_provider_billed(baked: Any) -> None:
    project, document, ledger = baked
    wire = ["anthropic", "openai", "google", "xai", "http"]
    rows = project.rows(SETTLED, document["id"], wire)
    assert Counter(judge for judge, _ in rows) == {
        model: tally["billed"] for model, tally in ledger["by_model"].items()
    }
    assert Counter(key for _, key in rows) == ledger["by_key"]
    assert ledger["requests"] == ledger["billed"] == len(rows)


def test_tokens_and_dollars_are_those_of_the_providers_ledger(baked: Any) -> None:
    project, document, ledger = baked
    asked = {name: tally for name, tally in ledger["by_model"].items() if name not in ("rag", "marker")}
    tokens = {judge: (i, o) for judge, i, o in project.rows(BILLED, document["id"]) if judge in asked}
    assert tokens == {name: (tally["input_tokens"], tally["output_tokens"]) for name, tally in asked.items()}
    paid = dict(project.rows(PAID, document["id"]))
    assert {name: paid[name] for name in (*asked, "marker")} == {
        name: dollars(ledger["by_model"][name]) for name in (*asked, "marker")
    }
    assert Decimal(document["spent_usd"]) == sum(paid.values())


def test_the_cost_command_sums_up_the_journal(baked: Any) -> None:
    project, _, _ = baked
    calls, paid = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in project.bake("cost"):
        calls[row["judge"], row["purpose"]] += row["calls"]
        paid[row["judge"], row["purpose"]] += Decimal(row["cost_usd"])
    sums = "SELECT judge, purpose, count(*), sum(cost_usd) FROM call_journal GROUP BY 1, 2"
    assert [(*of, calls[of], paid[of]) for of in sorted(calls)] == sorted(project.rows(sums))


def test_a_refused_key_pauses_its_judge_alone_and_resume_goes_on_once_it_is_mended(
    baked: Any, sim: Simulator
) -> None:
    project, _, _ = baked
    sim.set_profiles({"claude": {"answer": "cases", "require_key": "another key"}})
    done = project.run(*BAKE, "claude,gemini", "-o", "partial.json")
    assert done.returncode == 3, done.stderr
    assert "check ANTHROPIC_API_KEY" in done.stdout
    document = json.loads((project.folder / "partial.json").read_text("utf-8"))
    runs = {run["judge"]: run for run in document["runs"]}
    assert runs["claude"]["excluded"].startswith("paused: anthropic answered 401 (check ANTHROPIC_API_KEY)")
    assert (runs["gemini"]["n_pass"], runs["gemini"]["n_fail"]) == (4, 4)
    states = project.rows("SELECT judge, state FROM runs WHERE bakeoff_id = %s", document["id"])
    assert dict(states) == {"claude": "paused", "gemini": "concluded"}
    sim.set_profiles({"claude": PROFILES["claude"]})
    resumed = project.bake("resume", "last")
    assert {run["judge"]: run["n_pass"] for run in resumed["runs"]} == {"claude": 8, "gemini": 4}
    assert (resumed["id"], resumed["partial"], resumed["n_done"]) == (document["id"], False, 16)


def test_a_key_mended_in_the_keys_file_is_used_by_the_workers_that_run_already(baked: Any) -> None:
    project, _, _ = baked
    file = project.folder / "config" / "evalq" / ".env"
    project.write("config/evalq/.env", "FILED_KEY=sk-old\n")
    file.chmod(0o600)
    paused = project.bake(*FEW, "filed", code=3)
    assert "check FILED_KEY" in paused["runs"][0]["excluded"]
    file.write_text("FILED_KEY=sk-new\n", "utf-8")
    resumed = project.bake("resume", "last")
    assert (resumed["id"], resumed["n_done"], resumed["partial"]) == (paused["id"], 3, False)


def test_a_smoke_test_shows_what_came_back_and_the_limits_the_headers_name(baked: Any) -> None:
    project, _, _ = baked
    claude, gpt = project.bake(*SMOKE, "claude,gpt")
    assert (claude["ok"], claude["answer"], claude["fault"]) == (True, "capital 0", None)
    assert (gpt["ok"], gpt["answer"], gpt["fault"]) == (True, "Nowhere", None)
    assert (claude["limits"]["rpm"], claude["limits"]["input_tpm"]) == (6000, 90_000_000)
    assert gpt["limits"]["rpm"] == 6000
    for one in (claude, gpt):
        tokens = {"input_tokens": one["input_tokens"], "output_tokens": one["output_tokens"]}
        assert Decimal(one["cost_usd"]) == dollars(tokens) > 0
        assert one["latency_ms"] >= 0


def test_a_smoke_test_names_each_fault_with_its_remedy(baked: Any) -> None:
    project, _, _ = baked
    gemini, locked, gone = project.bake(*SMOKE, "gemini,locked,gone", code=3)
    assert (gemini["ok"], locked["ok"], gone["ok"]) == (True, False, False)
    assert locked["fault"].startswith("openai answered 401 (check GPT_KEY)")
    assert "model_not_found" in gone["fault"]


def test_the_journal_lists_every_attempt_with_its_price_or_its_fault(baked: Any) -> None:
    project, _, _ = baked
    project.bake(*FEW, "flaky")
    calls = project.bake("inspect", "last", "--calls")
    first, second = ([call for call in calls if call["attempt"] == number] for number in (1, 2))
    assert len(first) + len(second) == len(calls) == 6
    assert {call["key"] for call in first} == {call["key"] for call in second}
    assert {(c["purpose"], c["state"]) for c in calls} == {("answer", "settled")}
    assert {(c["fault_kind"], c["usage"], Decimal(c["cost_usd"])) for c in first} == {("transient", None, 0)}
    for call in second:
        assert 0 < Decimal(call["cost_usd"]) <= Decimal(call["reserved_usd"])
        assert call["usage"]["prompt_tokens"] > 0
        assert call["fault_kind"] is None
    for call in calls:
        assert call["request_id"].startswith("req_")
        assert call["reserved_at"] <= call["sent_at"] <= call["settled_at"]


def test_a_judge_without_a_price_needs_leave(baked: Any) -> None:
    project, _, _ = baked
    refused = project.run(*FEW, "unpriced")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "judge 'unpriced' has no price" in refused.stderr
    assert "--allow-unpriced" in refused.stderr
    allowed = project.bake(*FEW, "unpriced", "--allow-unpriced")
    assert (allowed["state"], allowed["n_done"], allowed["spent_usd"]) == ("concluded", 3, "0.00")


def test_the_simulator_says_how_to_use_it_answers_and_stops_at_ctrl_c(
    new_project: Callable[..., Any],
) -> None:
    project = new_project(EVALQ_SIMULATOR_KEY="any")
    command = project.start("simulator", "--port", "0")
    assert wait_until(lambda: "google" in command.stdout.read_text("utf-8"), timeout_s=PATIENCE_S)
    said = command.stdout.read_text("utf-8")
    url = said.split()[2]
    project.write("evalq.yaml", said[said.index("# evalq.yaml") :])
    pasted = {row["name"]: row for row in project.bake("judges") if row["model"] == "simulated"}
    assert {row["provider"] for row in pasted.values()} == {"openai", "anthropic", "google"}
    assert all(row["key_present"] and row["price"] for row in pasted.values())
    body = {"model": "simulated", "messages": [{"role": "user", "content": 'Say "yes".'}]}
    with urlopen(Request(f"{url}/v1/chat/completions", json.dumps(body).encode())) as reply:
        assert json.load(reply)["choices"][0]["message"]["content"] == "yes"
    command.interrupt()
    assert command.end() == 0
    assert "1 requests, 1 billed" in command.stderr.read_text("utf-8")
