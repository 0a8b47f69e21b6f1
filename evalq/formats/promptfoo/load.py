"""A promptfoo configuration as a task and an evalset: every prompt on every test."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.graders import GraderConfig
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.definitions.task import TaskConfig
from evalq.errors import Problem
from evalq.formats.agentv.read import load_document
from evalq.formats.agentv.read_parts import Node, root
from evalq.formats.build import set_name, task_name, with_own_ids
from evalq.formats.paths import Attachments, repository_of
from evalq.formats.problems import Losses, each_made
from evalq.formats.promptfoo.checks import Marking, graders_of
from evalq.formats.promptfoo.tests import Template, Test, filled, read_prompts, read_tests
from evalq.formats.skills.trigger_cases import short_id
from evalq.formats.sniff import glance
from evalq.formats.tables import QUESTIONS

MAX_TOKENS = 8192
MAX_SAMPLES = 1000
_NAME = re.compile(r"promptfooconfig.*\.(?:ya?ml|json)", re.IGNORECASE)
_OWN_KEYS = ("providers", "targets", "prompts", "defaultTest", "assertionTemplates")
_KNOWN = {
    "$schema",
    "description",
    "prompts",
    "tests",
    "defaultTest",
    "assertionTemplates",
    "evaluateOptions",
}


@dataclass(frozen=True)
class _Config:
    """What all tests of a file share."""

    document: Node
    prompts: Sequence[Template]
    attachments: Attachments
    trigger_mode: TriggerMode


def recognises(path: Path) -> bool:
    """True for promptfooconfig.yaml by name, and for what has promptfoo's keys or tests of variables."""
    if not path.is_file():
        return False
    seen = glance(path)
    if _NAME.fullmatch(path.name):
        return not seen.has("cases", "user_template")
    if seen.is_list or not seen.has("tests") or seen.has("cases"):
        return False
    return seen.has(*_OWN_KEYS) or {"vars", "assert"} <= seen.inner


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "tool_calls") -> LoadedTask:
    """The tests of the file for a bake-off; InputError with the problems of all of them."""
    del root  # files are looked for in the file's own repository, wherever we are
    losses = Losses()
    document = _document(path)
    attachments = Attachments((path.parent, repository_of(path.parent)), losses)
    config = _Config(document, read_prompts(document, attachments), attachments, trigger_mode)
    tests = list(enumerate(read_tests(document, attachments), start=1))
    made = each_made(lambda one: [(case, one[1].node.problem("")) for case in _cases(*one, config)], tests)
    cases, lines = with_own_ids([pair for pairs in made for pair in pairs], losses)
    _note_unused(config)
    return LoadedTask(
        _task(document, path),
        LoadedEvalSet(EvalSet(name=set_name(path), cases=cases), document.file, lines),
        warnings=losses.texts,
        samples=_samples(document),
    )


def _document(path: Path) -> Node:
    document = root(load_document(path))
    document.mapping()
    return document


def _task(document: Node, path: Path) -> TaskConfig:
    description = document.get("description")
    return TaskConfig(
        name=task_name(path),
        description=description.value if description and isinstance(description.value, str) else "",
        system_prompt="",
        user_template="{prompt}",
        max_tokens=MAX_TOKENS,
    )


def _cases(number: int, test: Test, config: _Config) -> Iterator[EvalCase]:
    """One case for each prompt."""
    graders = graders_of(test.checks, _marking(test, config))
    if not graders:
        test.node.refuse("nothing marks the answers to a test", "add a check that evalq has under assert:")
    prompts = config.prompts or [_own_prompt(test)]
    for prompt in prompts:
        yield _case(number, test, prompt, graders, is_one_of_many=len(prompts) > 1, config=config)


def _marking(test: Test, config: _Config) -> Marking:
    return Marking(
        test.variables,
        test.threshold is not None,
        config.attachments,
        config.document.get("assertionTemplates"),
        config.trigger_mode,
    )


def _own_prompt(test: Test) -> Template:
    """Without prompts, what is asked is a variable: one whose name says so, or the only one."""
    names = [name for name in QUESTIONS if name in test.variables] or list(test.variables)
    if not names or (len(test.variables) > 1 and names[0] not in QUESTIONS):
        test.node.refuse("no prompt to put its variables in", "add prompts: at the top")
    return Template("prompt", (("user", f"{{{{{names[0]}}}}}"),))


def _case(
    number: int,
    test: Test,
    prompt: Template,
    graders: list[GraderConfig],
    *,
    is_one_of_many: bool,
    config: _Config,
) -> EvalCase:
    for name in prompt.names:
        if name not in test.variables:
            message = f"{prompt.label} names {{{{{name}}}}}, which the test does not give: left empty"
            config.attachments.losses.note(test.node.problem(message))
    messages = [(role, filled(text, test.variables)) for role, text in prompt.messages]
    case_id = f"{number} {test.description}".strip() if test.description else f"test-{number}"
    fields: dict[str, Any] = {
        "id": short_id(f"{case_id} · {prompt.label}" if is_one_of_many else case_id),
        "inputs": {**test.variables, "prompt": messages[-1][1]},
        "graders": graders,
    }
    if len(messages) > 1:
        fields["messages"] = [{"role": role, "content": text} for role, text in messages]
    if is_one_of_many:
        fields["stratum"] = {"prompt": prompt.label}
    if test.threshold is not None:
        fields["pass_threshold"] = test.threshold
    return _validated({**fields, "metadata": dict(test.metadata)} if test.metadata else fields, test)


def _validated(fields: dict[str, Any], test: Test) -> EvalCase:
    messages = fields.get("messages")
    if messages and messages[-1]["role"] != "user":
        test.node.refuse("its prompt does not end with the user's word", "end it with a message of role user")
    return EvalCase.model_validate(fields)


def _samples(document: Node) -> int:
    options = document.get("evaluateOptions")
    repeat = options.get("repeat") if options else None
    return min(repeat.count(), MAX_SAMPLES) if repeat else 1


def _note_unused(config: _Config) -> None:
    document, losses = config.document, config.attachments.losses
    for key in document.value:
        line = document.located.line_of((key,))
        if key in ("providers", "targets"):
            message = f"{key} are not taken over: judges are named on the command line"
            losses.note(Problem(message, "give --judges a,b", document.file, line))
        elif key not in _KNOWN:
            losses.note(Problem(f"{key} is not taken over", "", document.file, line))
    for place in (document.get("defaultTest"), document.get("tests")):
        _note_options(place, losses)


def _note_options(place: Node | None, losses: Losses) -> None:
    nodes = place.items() if place and isinstance(place.value, list) else [place] if place else []
    for node in nodes:
        options = node.get("options", "provider", "providers")
        if options is not None:
            losses.note(options.problem(f"{options.name} of a test is not taken over"))
