"""Whether an answer may become a baseline, and which matchers of the file it keeps."""

from typing import Any

from evalq.definitions.template import has_matcher
from evalq.formats.suite.forms import RegressionForm
from evalq.grading.compare_json import differences, numeric_differences

_FIRST_ERROR_STATUS = 400


def keep_matchers(output: Any, written: Any) -> Any:
    """The output, with the matchers of the baseline in the file wherever they accept what is there."""
    if isinstance(written, str) and has_matcher(written):
        return output if differences(written, output) else written
    if isinstance(written, dict) and isinstance(output, dict):
        return {key: keep_matchers(item, written.get(key)) for key, item in output.items()}
    if isinstance(written, list) and isinstance(output, list):
        if len(written) == 1 and has_matcher(written):
            written = written * len(output)  # one entry with matchers describes all entries
        matched = [keep_matchers(item, example) for item, example in zip(output, written, strict=False)]
        return matched + output[len(matched) :]
    return output


def find_doubt(form: RegressionForm, output: Any, *, is_response: bool) -> str:
    """Why an answer is probably not known-good; "" if nothing speaks against it."""
    written = form.baseline.output
    status = output.get("status") if is_response and isinstance(output, dict) else None
    expected = written.get("status") if isinstance(written, dict) else None
    if isinstance(status, int) and status >= _FIRST_ERROR_STATUS and status != expected:
        return f"it has status {status}"
    if form.comparison.type == "numeric" and written is not None:
        found = numeric_differences(written, output, form.comparison.tolerance)
        if found:
            return f"it is out of tolerance: {found[0]}"
    return ""
