"""The keys of a promptfoo configuration: misspelt ones are errors, those without a counterpart are losses."""

from collections.abc import Collection

from evalq.errors import Problem
from evalq.formats.document import Node
from evalq.formats.known_keys import KeyFindings, list_nodes
from evalq.formats.problems import ImportWarnings

_READ = {"description", "prompts", "tests", "defaultTest", "assertionTemplates", "evaluateOptions"}
_TARGETS = {"providers", "targets"}
_NOT_READ = {
    *("tags", "scenarios", "outputPath", "sharing", "nunjucksFilters", "env", "derivedMetrics", "extensions"),
    *("metadata", "redteam", "writeLatestResults", "commandLineOptions", "tracing"),
}
_TEST_READ = {"description", "vars", "assert", "threshold", "metadata", "path"}
_TEST_NOT_READ = {
    *("options", "provider", "providers", "prompts", "providerOutput", "assertScoringFunction", "config"),
}
_CHECK_READ = {"type", "value", "threshold", "weight", "metric", "assert", "transform"}
_CHECK_NOT_READ = {"provider", "rubricPrompt", "config", "contextTransform"}
_OPTIONS_READ = {"repeat"}
_OPTIONS_NOT_READ = {
    *("delay", "maxConcurrency", "cache", "showProgressBar", "generateSuggestions", "timeoutMs"),
    *("maxEvalTimeMs", "interactiveProviders", "eventSource"),
}


def check_keys(document: Node, warnings: ImportWarnings) -> None:
    """Raise InputError for misspelt keys outside the tests; warn about every key whose meaning is lost."""
    findings = KeyFindings()
    findings.check(document, _READ | _TARGETS | _NOT_READ)
    _list_losses(document, _NOT_READ, "", warnings)
    for key in sorted(_TARGETS & document.value.keys()):
        message = f"{key} are not taken over: judges are named on the command line"
        line = document.located.line_of((key,))
        warnings.add(Problem(message, "give --judges a,b", document.file, line))
    options = document.get("evaluateOptions")
    findings.check(options, _OPTIONS_READ | _OPTIONS_NOT_READ)
    _list_losses(options, _OPTIONS_NOT_READ, "evaluateOptions.", warnings)
    defaults = document.get("defaultTest")
    if defaults is not None:
        _check_test(defaults, findings, warnings)
    templates = document.get("assertionTemplates")
    for name in templates.value if templates and isinstance(templates.value, dict) else ():
        _check_assertion(templates.get(name) if templates else None, findings, warnings)
    _conclude(findings, warnings)


def check_test_keys(test: Node, warnings: ImportWarnings) -> None:
    """The same for one test."""
    findings = KeyFindings()
    _check_test(test, findings, warnings)
    _conclude(findings, warnings)


def _conclude(findings: KeyFindings, warnings: ImportWarnings) -> None:
    findings.refuse_misspelt()
    for problem in findings.unknown:
        warnings.add(problem)


def _check_test(test: Node, findings: KeyFindings, warnings: ImportWarnings) -> None:
    findings.check(test, _TEST_READ | _TEST_NOT_READ)
    _list_losses(test, _TEST_NOT_READ, "", warnings, " of a test")
    for check in list_nodes(test, "assert"):
        _check_assertion(check, findings, warnings)


def _check_assertion(check: Node | None, findings: KeyFindings, warnings: ImportWarnings) -> None:
    findings.check(check, _CHECK_READ | _CHECK_NOT_READ)
    _list_losses(check, _CHECK_NOT_READ, "", warnings, " of a check")
    for member in list_nodes(check, "assert"):
        _check_assertion(member, findings, warnings)


def _list_losses(
    node: Node | None, lost: Collection[str], prefix: str, warnings: ImportWarnings, suffix: str = ""
) -> None:
    if node is None or not isinstance(node.value, dict):
        return
    for key, value in node.value.items():
        if key in lost and value is not None:
            line = node.located.line_of((*node.loc, key)) or node.line
            warnings.add(Problem(f"{prefix}{key}{suffix} is not taken over", "", node.file, line))
