"""Judges that would mark their own answers: a grader model that is on trial itself."""

from collections.abc import Iterable, Sequence

from evalq.definitions.judge import JudgeConfig


def self_graded(judges: Sequence[JudgeConfig], graders: Iterable[JudgeConfig]) -> list[tuple[str, str]]:
    """Each judge with the grader that is the same model, by name or by provider and model."""
    return sorted(
        {
            (judge.name, grader.name)
            for grader in graders
            for judge in judges
            if judge.name == grader.name or _same(judge, grader)
        }
    )


def self_grading_words(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """A warning for each judge that marks its own answers."""
    return [
        f"{judge} marks its own answers"
        + (f" (grader {grader} is the same model)" if grader != judge else "")
        + ": a model favours what it would have said; name another grader model"
        for judge, grader in pairs
    ]


def _same(judge: JudgeConfig, grader: JudgeConfig) -> bool:
    return (judge.provider, judge.model) == (grader.provider, grader.model)
