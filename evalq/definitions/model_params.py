"""What each parameter of a model judge means for the price of a call; what cannot be bounded is refused."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal

from evalq.definitions.judge import BaseJudge, ModelJudge
from evalq.errors import InputError, Problem

Protocol = Literal["anthropic", "openai", "google"]
Meaning = Literal["neutral", "limit", "copies", "budget", "object", "tools", "text", "off", "word", "refused"]
"""What a parameter does to the price of a call.

neutral: nothing. limit: bounds the output. copies: multiplies it. budget: tokens of thinking. object: holds
named settings, one of which may be a budget. tools: declarations of functions, not of a server's own tools.
text: kinds of output, of which text alone has our price. off: may only be switched off. word: names a tier
that has its own price or none.
"""

_PROTOCOLS: Mapping[str, Protocol] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "xai": "openai",
    "google": "google",
}
_MOST_TOKENS = 10_000_000
_MOST_COPIES = 128


def _each(meaning: Meaning, names: str) -> dict[str, Meaning]:
    return dict.fromkeys(names.split(), meaning)


_EVERYWHERE: Mapping[str, Meaning] = {
    **_each("neutral", "temperature top_p top_k metadata tool_choice store seed stop stop_sequences"),
    **_each("word", "service_tier"),
    **_each("off", "stream background"),
    **_each("tools", "tools"),
}
_MEANINGS: Mapping[Protocol, Mapping[str, Meaning]] = {
    "anthropic": {
        **_EVERYWHERE,
        **_each("neutral", "cache_control"),
        **_each("limit", "max_tokens"),
        **_each("object", "thinking output_config"),
        **_each("word", "speed inference_geo"),
    },
    "openai": {
        **_EVERYWHERE,
        **_each("neutral", "presence_penalty frequency_penalty repetition_penalty length_penalty logit_bias"),
        **_each("neutral", "min_p typical_p min_tokens ignore_eos skip_special_tokens stop_token_ids"),
        **_each("neutral", "logprobs top_logprobs prompt_logprobs response_format structured_outputs"),
        **_each("neutral", "guided_json guided_regex guided_choice guided_grammar grammar"),
        **_each("neutral", "functions function_call parallel_tool_calls user safety_identifier verbosity"),
        **_each("neutral", "prompt_cache_key prompt_cache_retention reasoning_effort include_reasoning"),
        **_each("neutral", "enable_thinking cache_prompt keep_alive"),
        **_each("limit", "max_tokens max_completion_tokens"),
        **_each("copies", "n best_of"),
        **_each("budget", "thinking_budget"),
        **_each("object", "thinking reasoning chat_template_kwargs"),
        **_each("text", "modalities"),
    },
    "google": {
        **_EVERYWHERE,
        **_each("neutral", "presence_penalty frequency_penalty response_logprobs logprobs safety_settings"),
        **_each("neutral", "response_mime_type response_schema response_json_schema tool_config labels"),
        **_each("neutral", "media_resolution audio_timestamp enable_enhanced_civic_answers"),
        **_each("limit", "max_output_tokens"),
        **_each("copies", "candidate_count"),
        **_each("object", "thinking_config"),
        **_each("text", "response_modalities"),
    },
}

_OBJECTS: Mapping[str, tuple[frozenset[str], str | None]] = {
    "thinking": (frozenset({"type", "display", "budget_tokens"}), "budget_tokens"),
    "output_config": (frozenset({"effort", "format"}), None),
    "reasoning": (frozenset({"effort", "summary", "exclude", "enabled", "max_tokens"}), "max_tokens"),
    "chat_template_kwargs": (
        frozenset({"enable_thinking", "thinking", "reasoning_effort", "thinking_budget"}),
        "thinking_budget",
    ),
    "thinking_config": (
        frozenset({"include_thoughts", "thinking_level", "thinking_budget"}),
        "thinking_budget",
    ),
}
"""The settings in each object, and which of them is a budget of thinking tokens."""

_TOOL_TYPES: Mapping[Protocol, frozenset[str | None]] = {
    "anthropic": frozenset({None, "custom"}),
    "openai": frozenset({"function", "custom"}),
}
_FUNCTION_TOOLS = frozenset({"function_declarations", "functionDeclarations"})

_LIMIT_NAMES: Mapping[Protocol, str] = {
    "anthropic": "max_tokens",
    "openai": "max_completion_tokens",
    "google": "max_output_tokens",
}
_OTHER_LIMITS = "max_tokens max_completion_tokens max_output_tokens max_new_tokens num_predict n_predict"


def _all_need(remedy: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), remedy)


_REMEDIES: Mapping[str, str] = {
    "model": "set model: of the judge, which is the model that is priced",
    **_all_need("set model: of the judge", "models route provider routing_config model_selection_config"),
    **_all_need(
        "write it in the task: the prompt is what is priced",
        "messages system contents prompt input system_instruction",
    ),
    **_all_need(
        "remove it: what a provider's own tools read and cost has no bound",
        "web_search_options search_parameters plugins mcp_servers container cached_content fallbacks",
    ),
    **_all_need(
        "write its fields directly under params:",
        "extra_body extra_query generation_config config options",
    ),
    **_all_need(
        "remove it: this output has another price than text",
        "audio speech_config image_config audio_transcription_config generation_output_config",
    ),
    **_all_need("write n: for several answers", "use_beam_search num_beams num_return_sequences"),
    "extra_headers": "remove it: headers can change what is billed",
    "http_options": "set base_url: and deadline_s: of the judge",
    "timeout": "set deadline_s: of the judge",
    "prediction": "remove it: rejected predictions are billed beside the answer",
    "stream_options": "remove it: evalq does not read answers in pieces",
    "automatic_continuation": "remove it: each continuation is billed",
    "automatic_function_calling": "remove it: each call of a function is billed",
}


@dataclass(frozen=True)
class ModelParams:
    """A judge's parameters under the names of its protocol; None leaves a field of ours out."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    limit_name: str | None = None
    budgets: tuple[int, ...] = ()


def protocol_of(judge: ModelJudge) -> Protocol:
    """The protocol that a judge's provider speaks."""
    return _PROTOCOLS[judge.provider]  # type: ignore[attr-defined]


def read_params(judge: ModelJudge) -> ModelParams:
    """The parameters, checked; InputError names each that cannot be sent, and the remedy."""
    reader = _read_all(judge)
    if reader.problems:
        raise InputError(*_name_judge(judge, reader.problems))
    limits = [name for name in reader.fields if reader.meaning_of(name) == "limit"]
    return ModelParams(reader.fields, limits[0] if limits else None, tuple(reader.budgets))


def find_problems(judge: BaseJudge) -> list[Problem]:
    """Every parameter of a judge that cannot be sent; none for judges that are not models."""
    return _read_all(judge).problems if isinstance(judge, ModelJudge) else []


def refuse_unbounded(judges: Iterable[BaseJudge]) -> None:
    """Refuse judges with parameters that leave the cost of a call without a bound."""
    problems: list[Problem] = []
    for judge in judges:
        problems += _name_judge(judge, find_problems(judge))
    if problems:
        raise InputError(*dict.fromkeys(problems))


def _read_all(judge: ModelJudge) -> "_Reader":
    reader = _Reader(protocol_of(judge), frozenset(judge.neutral_params))
    for name, value in judge.params.items():
        reader.read(name, value)
    reader.check_neutral_names()
    return reader


def _name_judge(judge: BaseJudge, problems: Iterable[Problem]) -> list[Problem]:
    return [replace(problem, message=f"judge {judge.name!r}: {problem.message}") for problem in problems]


class _Reader:
    """Reads parameters one by one, and keeps what is wrong with them."""

    def __init__(self, protocol: Protocol, declared: frozenset[str]) -> None:
        self._protocol = protocol
        self._declared = declared
        self.fields: dict[str, Any] = {}
        self.budgets: list[int] = []
        self.problems: list[Problem] = []

    def meaning_of(self, name: str) -> Meaning | None:
        """The meaning of a name in this protocol; None for an unknown one."""
        known = _MEANINGS[self._protocol].get(name)
        if known is None and (name in _REMEDIES or name in _OTHER_LIMITS.split()):
            return "refused"
        return known

    def read(self, written: str, value: object) -> None:
        """Keep a parameter under its name in the protocol, or what is wrong with it."""
        name = _snake_case(written) if self._protocol == "google" else written
        meaning = self.meaning_of(name) or ("refused" if _snake_case(written) in _REMEDIES else None)
        if name in self.fields or (meaning == "limit" and self._has_limit()):
            self._refuse(written, "is written twice", "keep one of them")
        elif meaning is None and written in self._declared:
            self.fields[written] = value
        elif meaning is None:
            self._refuse_unknown(written)
        elif meaning == "refused":
            self._refuse(written, "cannot be sent", self._remedy_for(written))
        else:
            self.fields[name] = self._read_value(written, meaning, value)

    def check_neutral_names(self) -> None:
        """Refuse a promise that a parameter is free when it is known to cost something."""
        for name in self._declared:
            if self.meaning_of(_snake_case(name)) not in (None, "neutral"):
                message = f"neutral_params names {name!r}, which changes what a call costs"
                self.problems.append(Problem(message, "take it out of neutral_params"))

    def _has_limit(self) -> bool:
        return any(self.meaning_of(name) == "limit" for name in self.fields)

    def _read_value(self, name: str, meaning: Meaning, value: object) -> Any:
        if meaning == "limit":
            return self._read_count(name, value, least=1, most=_MOST_TOKENS)
        if meaning == "copies":
            return self._read_count(name, value, least=1, most=_MOST_COPIES)
        if meaning == "budget":
            return self._read_budget(name, value)
        if meaning == "object":
            return self._read_settings(name, value)
        self._check_word(name, meaning, value)
        return value

    def _check_word(self, name: str, meaning: Meaning, value: object) -> None:
        if meaning == "off" and value is not False:
            self._refuse(name, "can only be false", "remove it: evalq reads each answer whole")
        if meaning == "word" and not isinstance(value, str):
            self._refuse(name, "is not a word", "write its value in quotes, or remove it")
        if meaning == "text" and not _is_text_only(value):
            self._refuse(name, "asks for more than text", "remove it: other output has another price")
        if meaning == "tools":
            self._check_tools(name, value)

    def _read_count(self, name: str, value: object, *, least: int, most: int) -> int:
        """A whole number; 1.0e5 is one too, since YAML reads it as a float."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not int or not least <= value <= most:
            remedy = f"write a whole number from {least} to {most}, without quotes"
            self._refuse(name, f"is {_show(value)}, which bounds nothing", remedy)
            return least
        return value

    def _read_budget(self, name: str, value: object) -> int:
        budget = self._read_count(name, value, least=0, most=_MOST_TOKENS)
        self.budgets.append(budget)
        return budget

    def _read_settings(self, name: str, value: object) -> Any:
        allowed, budget = _OBJECTS[_snake_case(name)]
        if not isinstance(value, Mapping):
            self._refuse(name, "is not a mapping", f"write it with {', '.join(sorted(allowed))}")
            return {}
        settings: dict[str, Any] = {}
        for written, item in value.items():
            key = _snake_case(str(written)) if self._protocol == "google" else str(written)
            if key not in allowed or key in settings:
                self._refuse(f"{name}.{written}", "cannot be sent", f"known are {', '.join(sorted(allowed))}")
            elif key == budget:
                settings[key] = self._read_budget(f"{name}.{written}", item)
            else:
                settings[key] = item
        return settings

    def _check_tools(self, name: str, value: object) -> None:
        tools = value if isinstance(value, list) else [value]
        if not all(self._is_function(tool) for tool in tools):
            self._refuse(name, "holds a tool that the provider runs itself", "declare functions only")

    def _is_function(self, tool: object) -> bool:
        if not isinstance(tool, Mapping):
            return False
        if self._protocol == "google":
            return bool(tool) and tool.keys() <= _FUNCTION_TOOLS
        kind = tool.get("type")
        is_named = "name" in tool or "function" in tool or "custom" in tool
        return is_named and (kind is None or isinstance(kind, str)) and kind in _TOOL_TYPES[self._protocol]

    def _remedy_for(self, name: str) -> str:
        return (
            _REMEDIES.get(_snake_case(name))
            or f"write {_LIMIT_NAMES[self._protocol]}: for the limit of an answer"
        )

    def _refuse_unknown(self, name: str) -> None:
        remedy = "remove it, or name it in neutral_params: of the judge if it cannot change what a call costs"
        for guess in get_close_matches(name, _MEANINGS[self._protocol], n=1):
            remedy = f"did you mean {guess!r}? Or {remedy}"
        self._refuse(name, "is not known, so the cost of a call is not bounded", remedy)

    def _refuse(self, name: str, what: str, remedy: str) -> None:
        self.problems.append(Problem(f"the parameter {name!r} {what}", remedy))


def _is_text_only(value: object) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return all(isinstance(kind, str) and kind.lower() == "text" for kind in kinds)


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _show(value: object) -> str:
    return "null" if value is None else repr(value)[:40]
