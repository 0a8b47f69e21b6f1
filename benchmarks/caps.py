"""A cap under 1,000 slots: what the provider billed, by its own ledger, against what evalq may spend.

Every answer is as long as it may be, so a call costs what was reserved for it. A tenth of the calls fail in
ways that are billed or may be. `python -m benchmarks.caps [--slots 1000] [--share 1]`
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from benchmarks.contest import TIMEOUT_S
from benchmarks.echo_project import MAX_TOKENS, bake_off_arguments, clean_environment, write_project
from evalq.engines.simulator.process import Simulator, running_simulator

CASES, JUDGES, LATENCY_MS = 1000, 4, 2000
PRICE = {"input": Decimal(1), "output": Decimal(2)}
"""Dollars for a million tokens, as echo_project prices its judges."""

FAULTS = {"500": 0.03, "reset_after": 0.04, "529": 0.03}
_CALLS_PAID_FOR = 0.6
_A_CALL_USD = PRICE["output"] * MAX_TOKENS / 1_000_000


@dataclass(frozen=True)
class Bill:
    """The end of a capped bake-off, by its own books and by the provider's."""

    state: str
    exit_code: int
    cap_usd: Decimal
    spent_usd: Decimal
    billed_usd: Decimal
    calls: int
    peak_in_flight: int
    fsck_code: int

    @property
    def is_kept(self) -> bool:
        """Whether it stopped at the cap, and nobody counts more than that."""
        is_stopped = (self.state, self.exit_code, self.fsck_code) == ("capped", 4, 0)
        return is_stopped and self.billed_usd <= self.spent_usd <= self.cap_usd


def run_capped(simulator: Simulator, folder: Path, *, slots: int, cases: int) -> Bill:
    """One bake-off whose cap pays for six calls in ten."""
    profile = {"latency_ms": LATENCY_MS, "output_tokens": MAX_TOKENS, "faults": FAULTS}
    simulator.set_profiles({"*": profile})
    write_project(folder, simulator.url, cases=cases, judges=JUDGES, slots=slots)
    cap_usd = (_A_CALL_USD * cases * JUDGES * Decimal(str(_CALLS_PAID_FOR))).quantize(Decimal("0.0001"))
    argv = [*bake_off_arguments(JUDGES), "--max-cost-usd", str(cap_usd), "--json", "--display", "none"]
    done = run_evalq(folder, *argv)
    if done.returncode not in (0, 3, 4):
        sys.exit(f"the bake-off ended with code {done.returncode}: {done.stderr}")
    result = json.loads(done.stdout)
    ledger = simulator.ledger()
    return Bill(
        state=result["state"],
        exit_code=done.returncode,
        cap_usd=cap_usd,
        spent_usd=Decimal(result["spent_usd"]),
        billed_usd=sum_bill(ledger["by_model"]),
        calls=ledger["requests"],
        peak_in_flight=ledger["peak_in_flight"],
        fsck_code=run_evalq(folder, "fsck").returncode,
    )


def sum_bill(by_model: dict[str, dict[str, int]]) -> Decimal:
    """What the provider would ask for, in dollars."""
    total = Decimal(0)
    for tokens in by_model.values():
        total += PRICE["input"] * tokens["input_tokens"] + PRICE["output"] * tokens["output_tokens"]
    return total / 1_000_000


def run_evalq(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in the project's folder."""
    argv = [sys.executable, "-m", "evalq", *arguments]
    env = clean_environment()
    return subprocess.run(
        argv, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )


def main() -> int:
    """Print the bill; exit code 1 when the cap was passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--slots", type=int, default=1000, help="calls in flight of the whole fleet")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases; for a quick look")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-caps-"))
    with running_simulator() as simulator:
        bill = run_capped(simulator, folder, slots=asked.slots, cases=round(CASES * asked.share))
    print(f"{asked.slots} slots, {bill.peak_in_flight} calls in flight, {bill.calls} calls, faults included")
    print(f"state {bill.state}, exit code {bill.exit_code}, fsck code {bill.fsck_code}")
    print(f"cap ${bill.cap_usd}, spent ${bill.spent_usd}, billed by the provider ${bill.billed_usd}")
    print("the cap held" if bill.is_kept else f"THE CAP DID NOT HOLD; the data is in {folder}")
    if bill.is_kept:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if bill.is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
