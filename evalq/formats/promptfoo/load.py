"""Loads a promptfoo configuration as a task and an evalset: every prompt with every test."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.graders import GraderConfig
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.definitions.task import TaskConfig
from evalq.formats.build import MAX_SAMPLES, MAX_TOKENS, set_name, short_id, task_name, with_unique_ids
from evalq.formats.document import Node, load_document, root_node
from evalq.formats.paths import Attachments
from evalq.formats.problems import ImportWarnings, build_readable
from evalq.formats.promptfoo.checks import CheckContext, build_graders
from evalq.formats.promptfoo.key_check import check_keys, check_test_keys
from evalq.formats.promptfoo.read import PromptfooTest, PromptTemplate, fill, read_prompts, read_tests
from evalq.formats.sniff import sniff
from evalq.formats.tables import QUESTIONS

_NAME = re.compile(r"promptfooconfig.*\.(?:ya?ml|json)", re.IGNORECASE)
_OWN_KEYS = ("providers", "targets", "prompts", "defaultTest", "assertionTemplates")


@dataclass(frozen=True)
class _Config:
    """What all tests of a file share."""

    document: Node
    prompts: Sequence[PromptTemplate]
    attachments: Attachments
    trigger_mode: TriggerMode


def recognises(path: Path) -> bool:
    """Recognise promptfooconfig.yaml by name, and files with promptfoo's keys or tests of variables."""
    if not path.is_file():
        return False
    seen = sniff(path)
    if _NAME.fullmatch(path.name):
        return not seen.has("cases", "user_template")
    if seen.is_list or not seen.has("tests") or seen.has("cases"):
        return False
    return seen.has(*_OWN_KEYS) or {"vars", "assert"} <= seen.inner


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "tool_calls") -> LoadedTask:
    """Load the tests of the file for a bake-off; a test that cannot be read is left out, with a warning.

    Raises InputError with the problems of all tests when none is left.
    """
    del root  # files are looked for in the file's own folder, wherever we are
    warnings = ImportWarnings()
    document = root_node(load_document(path))
    document.mapping()
    attachments = Attachments((path.parent,), warnings)
    config = _Config(document, read_prompts(document, attachments), attachments, trigger_mode)
    tests = read_tests(document, attachments)
    check_keys(document, warnings)
    numbered = list(enumerate(tests, start=1))
    groups = build_readable(
        lambda one: (_build_cases(*one, config), one[1].node.problem("")), numbered, warnings, what="a test"
    )
    cases, lines = with_unique_ids(groups, warnings)
    return LoadedTask(
        _build_task(document, path),
        LoadedEvalSet(EvalSet(name=set_name(path), cases=cases), document.file, lines),
        warnings=warnings.texts,
        samples=_read_samples(document),
    )


def _build_task(document: Node, path: Path) -> TaskConfig:
    description = document.get_value("description")
    return TaskConfig(
        name=task_name(path),
        description=description if isinstance(description, str) else "",
        system_prompt="",
        user_template="{prompt}",
        max_tokens=MAX_TOKENS,
    )


def _build_cases(number: int, test: PromptfooTest, config: _Config) -> list[EvalCase]:
    """Build one case for each prompt."""
    check_test_keys(test.node, config.attachments.warnings)
    context = CheckContext(
        test.variables,
        test.threshold is not None,
        config.attachments,
        config.document.get("assertionTemplates"),
        config.trigger_mode,
    )
    graders = build_graders(test.checks, context)
    if not graders:
        test.node.refuse("nothing marks the answers to a test", "add a check that evalq has under assert:")
    case_id = f"{number} {test.description}".strip() if test.description else f"test-{number}"
    prompts = config.prompts or [_guess_prompt(test)]
    return [_build_case(case_id, test, prompt, graders, config) for prompt in prompts]


def _guess_prompt(test: PromptfooTest) -> PromptTemplate:
    """Without prompts, ask the variable whose name suggests a question, or the only one."""
    names = [name for name in QUESTIONS if name in test.variables] or list(test.variables)
    if not names or (len(test.variables) > 1 and names[0] not in QUESTIONS):
        test.node.refuse("no prompt to put its variables in", "add prompts: at the top")
    return PromptTemplate("prompt", (("user", f"{{{{{names[0]}}}}}"),))


def _build_case(
    case_id: str, test: PromptfooTest, prompt: PromptTemplate, graders: list[GraderConfig], config: _Config
) -> EvalCase:
    for name in prompt.names:
        if name not in test.variables:
            message = f"{prompt.label} names {{{{{name}}}}}, which the test does not give: left empty"
            config.attachments.warnings.add(test.node.problem(message))
    messages = [(role, fill(text, test.variables)) for role, text in prompt.messages]
    last_role, last_text = messages[-1]
    fields: dict[str, Any] = {"inputs": {**test.variables, "prompt": last_text}, "graders": graders}
    if len(config.prompts) > 1:
        fields["id"] = short_id(f"{case_id} · {prompt.label}")
        fields["stratum"] = {"prompt": prompt.label}
    else:
        fields["id"] = short_id(case_id)
    if len(messages) > 1:
        if last_role != "user":
            remedy = "end it with a message of role user"
            test.node.refuse("its prompt does not end with the user's word", remedy)
        fields["messages"] = [{"role": role, "content": text} for role, text in messages]
    if test.threshold is not None:
        fields["pass_threshold"] = test.threshold
    if test.metadata:
        fields["metadata"] = dict(test.metadata)
    return EvalCase.model_validate(fields)


def _read_samples(document: Node) -> int:
    options = document.get("evaluateOptions")
    repeat = options.get_count("repeat") if options else None
    return min(repeat or 1, MAX_SAMPLES)
