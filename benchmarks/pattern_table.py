"""Which text each of our regular expressions sees; one that is not listed here fails the tests."""

import re
from collections.abc import Iterator, Mapping

from benchmarks.pattern_attacks import Use
from evalq.calling.providers.thinking import _FAMILIES
from evalq.definitions.catalogue import _PROVIDERS
from evalq.definitions.definition import NAME_PATTERN
from evalq.definitions.template import MATCHERS
from evalq.grading.checks.decisions import _REFUSAL
from evalq.grading.fenced_code import _DEFINITIONS

_MODELS = "what models answer and reply"
_ROWS = "rows of production data"
_PROVIDERS_SAY = "what providers and servers reply"
_FILES = "files and options that users write"
_REQUESTS = "what people and programs send to our pages and the simulator"
_OURS = "what this program or one it starts has written"

SEES: Mapping[str, Mapping[str, str]] = {
    _MODELS: {
        "evalq.bakeoff.answer_groups": "_NUMBER _QUOTED",
        "evalq.calling.providers.retriever": "_WORD",
        "evalq.cases.draft_reply": "_words_of",
        "evalq.cases.person_names": "_occurs_in",
        "evalq.definitions.located": "_HARD_TO_STORE _JSON_TOKEN",
        "evalq.formats.suite.render": "_LINE_START _SPECIAL _code_block",
        "evalq.grading.checks.decisions": "_find_refusal read_decision",
        "evalq.grading.checks.text": "_LONG_RUN",
        "evalq.grading.code": "_ASSIGNS _GOES_ON _STARTS _USES _defines _is_needed _join_blocks",
        "evalq.grading.fenced_code": "_OPENS _defines fenced_blocks",
        "evalq.grading.prompts": "_LOOKALIKE _NONCE",
        "evalq.grading.reading": "_NUMBER _WHOLE _is_like is_time is_uri",
        "evalq.grading.replies": "_CLOSING_FENCE _OPENING_FENCE _read_last_line _read_verdict",
        "evalq.reports.markdown": "_LINE_START _SPECIAL",
        "evalq.reports.json_output": "_UNSAFE",
        "evalq.reports.text": "_HOSTILE _LINE_ENDS _WORDS",
        "evalq.reports.text_diff": "_TOKEN",
    },
    _ROWS: {
        "evalq.cases.person_names": "_set_name",
        "evalq.cases.scrub.contacts": "_BIRTH _DOMAIN _ENGLISH _GERMAN _IN_URL_LOGIN _IPV4 _IPV6 _LOCAL_PART "
        "_SMALL_STREET _SPELT_OUT _VERSION _VIETNAMESE _parse_ipv6",
        "evalq.cases.scrub.credentials": "_ASSIGNED _HEADER _JWT _KEYS _PEM_BEGIN _PEM_BODY _PEM_END "
        "_REFERENCE _SYMBOL _URL_LOGIN _has_symbol _is_mixed",
        "evalq.cases.scrub.identifiers": "_AMERICAN _CARD _COUNTRY _DATE _DOUBLE_ZERO _EXTENSION _IBAN "
        "_ID_NUMBER _INTERNATIONAL _IN_A_LONGER_NUMBER _LABELLED _MOBILE _NATIONAL _OTHER_LABEL _PHONE_LABEL "
        "_RUN _SEVEN_DIGITS _SSN _SSN_LABEL _trim_national _up_to_last_digit find_ibans",
        "evalq.cases.scrub.scrub": "STAND_IN _occurrences normal_form",
    },
    _PROVIDERS_SAY: {
        "evalq.calling.providers.faults": "_ACCOUNT _ACCOUNT_CODE _BAD_KEY _CODE _CONTENT_POLICY "
        "_REQUEST_ID _STATUS",
        "evalq.calling.providers.throttling": "_DURATION _IN_WORDS _LIMIT",
        "evalq.calling.providers.http": "_HEADER_NAME",
        "evalq.store.database": "mapped_errors",
    },
    _FILES: {
        "evalq.bakeoff.holdout.chain": "parse_anchor",
        "evalq.calling.providers.http": "_PATH_PART",
        "evalq.calling.providers.request_bodies": "_EVERY_MODEL _NO_SCHEMA _NO_TEMPERATURE _OPENAI_HOST",
        "evalq.calling.providers.simulated": "_SECTION",
        "evalq.calling.providers.thinking": "_find_family",
        "evalq.cases.draft_prompt": "_fill_words",
        "evalq.definitions.catalogue": "_fold _judge_for_model",
        "evalq.definitions.definition": "_refuse_choice is_name",
        "evalq.definitions.graders.code": "_FUNCTION_NAMES",
        "evalq.definitions.json_queries": "_PART dotted_parts",
        "evalq.definitions.model_params": "_snake_case",
        "evalq.definitions.prompt": "_LITERAL_PATTERN _wanted_texts",
        "evalq.definitions.regexes": "_AMBIGUOUS _TOKEN _VERBOSE_TOKEN _check_syntax _tokens",
        "evalq.definitions.rubrics": "_PLAIN_NAME",
        "evalq.definitions.schedules": "_PART",
        "evalq.definitions.template": "_MATCHER _PLACEHOLDER names_builtin_rubric",
        "evalq.definitions.url_secrets": "_CAMEL _SECRET_NAME _SECRET_VALUE",
        "evalq.definitions.writing": "_RARE_LINE_BREAKS _leading_comment _without_marks",
        "evalq.definitions.yaml_text": "FLOAT INTEGER NOT_FINITE",
        "evalq.engines.broker": "celery_url",
        "evalq.cli.config": "_PASSWORD _QUERY",
        "evalq.formats.agentv.graders": "_PLACEHOLDER _PROGRAM _PROMPT_FILE _to_score",
        "evalq.formats.agentv.javascript_values": "_FLOAT _INDEX _INTEGER",
        "evalq.formats.agentv.load": "_NAME",
        "evalq.formats.agentv.read": "_PLACEHOLDER",
        "evalq.formats.agentv.skill_evals": "_UNSAFE",
        "evalq.formats.build": "as_name",
        "evalq.formats.eva.doctor": "_ALIAS _USE_WHEN",
        "evalq.formats.eva.promote": "_LINE",
        "evalq.formats.eva.prompt": "_FIELD _NAME",
        "evalq.formats.eva.usage": "_PAIR _environment",
        "evalq.formats.javascript_regex": "_CODE_POINT _GROUP_NAME _HEX _MODIFIERS _REPEAT",
        "evalq.formats.own_scale": "_ONE_IF _RANGES _ZERO_ELSE",
        "evalq.formats.promptfoo.load": "_NAME",
        "evalq.formats.promptfoo.read": "_EXPECTED_COLUMN _FIELD _LOGIC _SHORT_CHECK",
        "evalq.formats.skills.trigger_cases": "_get_unquoted_field",
        "evalq.formats.sniff": "_INNER_KEY _TOP_KEY _sniff_yaml",
        "evalq.formats.suite.assignment": "_system_at",
        "evalq.formats.suite.baselines": "_file_name",
        "evalq.formats.suite.evals": "_FILE_NAME",
        "evalq.formats.suite.load": "slug",
        "evalq.formats.suite.metrics": "_SPELLING",
        "evalq.formats.suite.new_suite": "_ID",
        "evalq.formats.suite.report_files": "_is_own_link",
        "evalq.formats.suite.requests": "_LINE _OLD_NUMBER",
        "evalq.formats.suite.rubrics": "_ASKED _LEVEL _POINT _RANGE _WEIGHTED slug",
        "evalq.formats.spreadsheet": "_REFERENCE _WHOLE_NUMBER",
        "evalq.formats.table_files": "_QUOTED",
        "evalq.formats.table_task": "_NUMBER name_input",
        "evalq.formats.tables": "_NUMBER _SOLUTION",
        "evalq.grading.people": "_RANKING _parse_ranking _read_likert",
        "evalq.grading.reading": "_TOKEN",
        "evalq.keys": "_LINE _NAME _VALUE",
        "evalq.review.items": "_NAME",
        "evalq.settings": "_parse_number",
        "evalq.store.bakeoffs": "_RUN_NAME",
        "evalq.store.suite_runs": "_NAME",
    },
    _REQUESTS: {
        "evalq.engines.simulator.answers": "_SAY",
        "evalq.engines.simulator.protocols.gemini": "_MODEL",
        "evalq.review.ratings": "_TOKEN",
    },
    _OURS: {
        "evalq.cases.scrub.report": "_MARKED",
        "evalq.definitions.judge_specs": "_FORM _NOT_IN_NAMES",
        "evalq.definitions.scaffold": "render_task",
        "evalq.engines.postgres": "_major_version",
        "evalq.formats.suite.new_suite": "_fill",
        "evalq.engines.valkey": "_ask_version _read_configuration",
        "evalq.grading.sandbox.isolation": "bwrap_version",
        "evalq.grading.sandbox.running": "system_interpreter",
        "evalq.store.database": "_NAME_LINE",
    },
}

AT_MOST: Mapping[str, int] = {
    "evalq.cases.scrub.contacts:_LOCAL_PART": 64,
    "evalq.definitions.regexes:_TOKEN": 5_000,
    "evalq.definitions.regexes:_VERBOSE_TOKEN": 5_000,
    "evalq.grading.checks.decisions:_find_refusal": 600,
    "evalq.grading.reading:_WHOLE": 400,
    "evalq.grading.reading:_is_like": 2_000,
}
"""Characters after which the code cuts or refuses the text before the pattern sees it."""

BUILT: Mapping[str, tuple[tuple[str, str], ...]] = {
    "evalq.calling.providers.thinking:_find_family": tuple(
        (family, "match") for families in _FAMILIES.values() for family, _ in families
    ),
    "evalq.cases.draft_prompt:_fill_words": ((r"\b(ONE|TWO)\b", "sub"),),
    "evalq.cases.person_names:_occurs_in": ((r"(?<!\w)aa(?!\w)", "search"),),
    "evalq.cases.scrub.scrub:_occurrences": ((r"(?<!\w)(?:aaaaaaaa|aaaa)(?!\w)", "finditer"),),
    "evalq.definitions.catalogue:_judge_for_model": tuple((sign, "match") for sign in _PROVIDERS),
    "evalq.definitions.definition:is_name": ((NAME_PATTERN, "fullmatch"),),
    "evalq.definitions.regexes:_check_syntax": (),  # only compiled here; users' patterns run in search.py
    "evalq.definitions.scaffold:render_task": (),
    "evalq.formats.suite.new_suite:_fill": (),
    "evalq.formats.build:as_name": ((NAME_PATTERN, "fullmatch"),),
    "evalq.formats.skills.trigger_cases:_get_unquoted_field": (
        (r"(?m)^name:[ \t]*(.*(?:\n[ \t]+.*)*)", "search"),
    ),
    "evalq.grading.checks.decisions:_find_refusal": ((_REFUSAL, "search"),),
    "evalq.grading.checks.decisions:read_decision": ((r"DECISION=(a|ab) REASON=(.+)", "fullmatch"),),
    "evalq.grading.code:_defines": (
        (
            r"(?m)^(?:(?:async[ \t]+)?def|class)[ \t]+name\b|^name[ \t]*(?::[^=\n]{1,200})?=(?!=)",
            "search",
        ),
    ),
    "evalq.grading.fenced_code:_defines": tuple(
        (f"(?m){form.replace('NAME', 'name')}", "search") for form in _DEFINITIONS.values()
    ),
    "evalq.grading.fenced_code:fenced_blocks": ((r"[ \t]*`{3,}[ \t]*$", "match"),),
    "evalq.grading.reading:_is_like": tuple((form, "fullmatch") for form in MATCHERS.values()),
    "evalq.grading.replies:_read_last_line": (
        (r"SCORE=(-?(?:0|[1-9][0-9]{0,6})) REASON=(.+)", "fullmatch"),
        (r"WINNER=(A|B|TIE) REASON=(.+)", "fullmatch"),
    ),
}
"""Patterns that a function puts together while it runs, as they come out."""


def listed() -> Iterator[tuple[str, str]]:
    """Every listed place, and the text it sees."""
    for text, modules in SEES.items():
        for module, names in modules.items():
            for name in names.split():
                yield f"{module}:{name}", text


def built_uses() -> Iterator[Use]:
    """The uses of the patterns that are put together."""
    for where, forms in BUILT.items():
        for form, method in forms:
            yield Use(where, re.compile(form), method)


def attacked(where: str) -> bool:
    """Whether others can choose the text."""
    return dict(listed()).get(where) != _OURS
