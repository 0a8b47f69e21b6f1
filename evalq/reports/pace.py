"""How fast a bake-off goes, as seen since the display was opened: seconds to the end."""

from evalq.results import JudgeProgress, Progress


class Pace:
    """Measures from the first progress it sees, so that a resumed bake-off's idle days do not count."""

    def __init__(self) -> None:
        self._first: Progress | None = None

    def note(self, progress: Progress) -> None:
        """Take the first progress as the start."""
        self._first = self._first or progress

    def judge_eta_s(self, judge: JudgeProgress, progress: Progress) -> float | None:
        """Seconds until this judge is done; None while nothing has moved, or for a judge that stopped."""
        if judge.done >= judge.total:
            return 0.0
        moved = judge.done - self._done_at_first(judge.judge)
        if self._first is None or judge.broken or moved <= 0:
            return None
        return (progress.now - self._first.now).total_seconds() / moved * (judge.total - judge.done)

    def eta_s(self, progress: Progress) -> float | None:
        """Seconds until the slowest judge is done; None until every judge still going has moved."""
        going = [judge for judge in progress.judges if not judge.broken]
        waits = [wait for judge in going if (wait := self.judge_eta_s(judge, progress)) is not None]
        return max(waits, default=0.0) if len(waits) == len(going) else None

    def _done_at_first(self, name: str) -> int:
        before = self._first.judges if self._first else ()
        return next((judge.done for judge in before if judge.judge == name), 0)
