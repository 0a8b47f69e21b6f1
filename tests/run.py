"""Runs both halves of the tests, whatever becomes of the first, and counts them together in one line."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

# Apart, because every process collects all tests of its half before it runs any, and the small ones are many.
HALVES = (
    ["tests/unit", "tests/project", "-n", "auto"],
    # In this order, not by the number of tests: a long file at the end would leave the other processes idle.
    [
        *("tests/faults", "tests/acceptance", "tests/browser", "tests/integration", "tests/contract"),
        *("-n", "4", "--dist", "loadfile", "--no-loadscope-reorder"),
    ],
)


def run_half(arguments: list[str], report: Path) -> int:
    """Run pytest and return its exit code; the report is an XML file of its results."""
    command = [sys.executable, "-m", "pytest", "-q", *arguments, f"--junitxml={report}"]
    code = subprocess.run(command, check=False).returncode
    return code if code >= 0 else 128 - code  # as a shell counts a death by signal


def count_results(report: Path, code: int) -> Counter[str]:
    """The numbers of passed, failed and skipped tests; a half that broke down has at least one failure."""
    counts: Counter[str] = Counter()
    suite = ElementTree.parse(report).find("testsuite") if report.exists() else None
    if suite is not None:
        tests, failures, errors, skipped = (
            int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")
        )
        failed = failures + errors
        counts.update(passed=tests - failed - skipped, failed=failed, skipped=skipped)
    if code != 0 and not counts["failed"]:
        counts["failed"] = 1
    return counts


def main() -> int:
    """Return the worse of the two exit codes."""
    totals: Counter[str] = Counter()
    codes = []
    with TemporaryDirectory() as folder:
        for number, arguments in enumerate(HALVES):
            report = Path(folder) / f"{number}.xml"
            codes.append(run_half(arguments, report))
            totals += count_results(report, codes[-1])
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
