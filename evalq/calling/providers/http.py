"""Any JSON endpoint as a judge: a request by template, and the answer by its path in the reply."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import httpx2

from evalq.calling.providers.faults import FaultsOf, Party, fault_of_response, refuse_error_body, request_id
from evalq.calling.providers.reply_fields import (
    elapsed_ms,
    read_json,
    read_key,
    read_own_cost,
    read_own_usage,
    read_tool_calls,
    read_variable,
    state_with_tools,
)
from evalq.calling.providers.transport import call_headers, client
from evalq.definitions.judge import HttpJudge
from evalq.definitions.template import (
    check_template,
    fill_placeholders,
    find_placeholders,
    render,
    variable_of,
)
from evalq.errors import ProviderFault
from evalq.records import Completion, CompletionState, Prompt, ToolCall

if TYPE_CHECKING:
    from jsonpath_ng.jsonpath import JSONPath

PLAIN_ANSWER = "$.answer"
"""The path of judges that set none: only they may answer in plain text."""

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection"})
"""Headers that say where a request goes and how long it is: a case must not set them."""

_UNKEPT = frozenset({"set-cookie", "date", "server", "connection", "keep-alive", "content-length"})
_SHORTEST_SECRET = 4

_PATH_PART = re.compile(r"\[(?P<inside>[^\]]*+)|\.\*|\.\.")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~\w-]+", re.ASCII)


class HttpAdapter:
    """Sends one request per call. A path that can find many values has their list as its answer."""

    def __init__(self, judge: HttpJudge, environ: Mapping[str, str]) -> None:
        self._judge = judge
        self._headers, secrets = _read_headers(judge, environ)
        self._exchange: Exchange | None = None
        if judge.exchange:
            self._exchange = Exchange(judge, environ)
            secrets += self._exchange.secrets
        variables = (*judge.headers_env.values(), *judge.variables_env.values())
        names = [name for name in (judge.key_name, *variables) if name]
        self._party = Party(judge.name, " or ".join(names) or None, secrets)
        fixed = _fixed_part(judge.answer)
        self._finds_many = fixed != judge.answer
        self._path = _parse_path(judge, judge.answer)
        self._parent = _parse_path(judge, fixed or "$")
        self._tools = _parse_path(judge, judge.tool_calls) if judge.tool_calls else None
        self._usage = _parse_path(judge, judge.usage) if judge.usage else None
        self._cost = _parse_path(judge, judge.cost) if judge.cost else None
        _check_templates(judge, judge.body)

    async def complete(self, prompt: Prompt) -> Completion:
        """One request."""
        with FaultsOf(self._party, prompt) as call:
            request = self._build_request(prompt)
            started = time.perf_counter()
            response = await client.send(request)
            latency_ms = elapsed_ms(started)
            if self._exchange:
                text = self._exchange.answer(response)
                return Completion("answered", text, latency_ms=latency_ms, model=self._judge.model)
            if not response.is_success:
                raise fault_of_response(response, self._party, prompt)
            call.request_id = request_id(response.headers)
            state, text = self._read_answer(response)
            if state == "malformed":
                refuse_error_body(response, self._party, prompt)
            calls = self._read_tool_calls(response)
            return Completion(
                state_with_tools(state, calls),
                text,
                read_own_usage(_find_first(self._usage, response)),
                stated_usd=read_own_cost(_find_first(self._cost, response)),
                latency_ms=latency_ms,
                model=self._judge.model,
                request_id=call.request_id,
                tool_calls=calls,
            )

    def _read_tool_calls(self, response: httpx2.Response) -> tuple[ToolCall, ...]:
        if self._tools is None:
            return ()
        found = [match.value for match in self._tools.find(read_json(response.content))]
        if len(found) == 1 and isinstance(found[0], list):
            found = found[0]
        return read_tool_calls(found)

    def _build_request(self, prompt: Prompt) -> httpx2.Request:
        judge, headers = self._judge, {**self._headers, **call_headers(prompt)}
        if self._exchange:
            return self._exchange.request(prompt, headers)
        inputs = prompt.about.inputs
        whole = {"case_id": prompt.about.case_id, "inputs": dict(inputs)}
        body = _fill(judge.body, {**whole, **inputs, "system": prompt.system, "user": prompt.user})
        content = {"params": body} if judge.method == "GET" else {"json": body}
        return client.build_request(
            judge.method, judge.url, **content, headers=headers, timeout=judge.deadline_s
        )

    def _read_answer(self, response: httpx2.Response) -> tuple[CompletionState, str]:
        """A reply with nothing at the answer's path is malformed, not empty; plain text is an answer."""
        if self._judge.answer == PLAIN_ANSWER and _is_plain_text(response):
            return ("answered", response.text) if response.text.strip() else ("empty", "")
        reply = read_json(response.content)
        found = [match.value for match in self._path.find(reply)]
        if not found and not (self._finds_many and self._parent.find(reply)):
            return "malformed", response.text
        answer = found if self._finds_many else found[0]
        if answer is None:
            return "empty", ""
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return ("answered", text) if text.strip() else ("empty", "")


def _is_plain_text(response: httpx2.Response) -> bool:
    """Whether a reply says that it is plain text; what is JSON all the same is read as JSON."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "text/plain":
        return False
    try:
        return not isinstance(read_json(response.content), dict)
    except (ValueError, RecursionError):
        return True


def _find_first(path: "JSONPath | None", response: httpx2.Response) -> object:
    """The first value at a path of the reply; None without a path or a value."""
    if path is None:
        return None
    found = path.find(read_json(response.content))
    return found[0].value if found else None


def _read_headers(judge: HttpJudge, environ: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The headers of every request, and the secrets among their values."""
    key = read_key(judge, environ)
    secret = {
        name: read_variable(of, environ, wanted_by=judge.name) for name, of in judge.headers_env.items()
    }
    headers = {"authorization": f"Bearer {key}"} if key else {}
    headers |= {name.lower(): value for name, value in (judge.headers | secret).items()}
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
            raise ProviderFault("fatal", f"{judge.name}: the header {name!r} cannot be sent as it is written")
    return headers, tuple(value for value in (key, *secret.values()) if value)


def _fixed_part(path: str) -> str:
    """The path up to where it may find any number of values: `[*]`, `[0:5]`, `[a, b]`, `[?…]`, `.*`, `..`."""
    for part in _PATH_PART.finditer(path):
        inside = part["inside"]
        if inside is None or any(sign in inside for sign in "*:,?"):
            return path[: part.start()]
    return path


def _parse_path(judge: HttpJudge, path: str) -> "JSONPath":
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.parser import parse

    try:
        return parse(path)
    except JSONPathError:
        message = f"{judge.name}: {path!r} is not a JSONPath; write one such as $.choices[0].text"
        raise ProviderFault("fatal", message) from None


def _check_templates(judge: HttpJudge, body: Any) -> None:
    if judge.method == "GET" and not isinstance(body, dict):
        raise ProviderFault("fatal", f"{judge.name}: the body of a GET is its query; write names and values")
    try:
        for text in _strings_in(body):
            check_template(text)
    except ValueError as exc:
        raise ProviderFault("fatal", f"{judge.name}: in its body, {exc}") from None


def _strings_in(body: Any) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict):
        for item in body.values():
            yield from _strings_in(item)
    elif isinstance(body, list):
        for item in body:
            yield from _strings_in(item)


def _fill(body: Any, values: Mapping[str, Any]) -> Any:
    """The body with every string in it filled in; the names of its members stay."""
    if isinstance(body, str):
        return _render(body, values)
    if isinstance(body, dict):
        return {name: _fill(item, values) for name, item in body.items()}
    if isinstance(body, list):
        return [_fill(item, values) for item in body]
    return body


def _render(template: str, values: Mapping[str, Any]) -> str:
    try:
        return render(template, values)
    except KeyError as exc:
        message = f"the body asks for {{{exc.args[0]}}}, which this case does not have among its inputs"
        raise ProviderFault("permanent", message) from None


class Exchange:
    """Makes the request a case names, below the judge's URL, and reads whatever comes back.

    Every response is an answer, whatever its status: an error page is what the tested system says.
    """

    def __init__(self, judge: HttpJudge, environ: Mapping[str, str]) -> None:
        self._judge = judge
        self._values = {
            name: read_variable(of, environ, wanted_by=judge.name) for name, of in judge.variables_env.items()
        }

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no message may contain."""
        return tuple(self._values.values())

    def request(self, prompt: Prompt, headers: Mapping[str, str]) -> httpx2.Request:
        """The request of a prompt's case; a permanent fault for one that names none, or another system."""
        written = prompt.about.inputs.get("request")
        if not isinstance(written, Mapping):
            raise ProviderFault("permanent", f"{self._judge.name} needs a request, and this case names none")
        self._refuse_unfilled(written)
        method = str(written.get("method", "GET"))
        if method not in _METHODS:
            raise ProviderFault("permanent", f"a request cannot be {method[:20]!r}")
        body = fill_placeholders(written.get("body"), self._values)
        return client.build_request(
            method,
            self._build_url(written),
            **({"content": body} if isinstance(body, str) else {"json": body}),
            headers={**headers, **self._build_headers(written)},
            timeout=self._judge.deadline_s,
        )

    def answer(self, response: httpx2.Response) -> str:
        """The response as JSON; secret values are replaced by the placeholders they fill."""
        headers = {}
        for name, value in response.headers.items():
            if name.lower() not in _UNKEPT:
                headers[name.lower()] = self._hide_secrets(value)
        body = _json_or_text(self._hide_secrets(response.text))
        whole = {"status": response.status_code, "headers": headers, "body": body}
        return json.dumps(whole, ensure_ascii=False)

    def _build_url(self, written: Mapping[str, Any]) -> httpx2.URL:
        quoted = {name: quote(value, safe="") for name, value in self._values.items()}
        path = str(fill_placeholders(written.get("path", "/"), quoted))
        query = fill_placeholders(written.get("query") or {}, self._values)
        if query:
            path += ("&" if "?" in path else "?") + urlencode(query, doseq=True)
        if not path.startswith("/") or path.startswith("//"):
            raise ProviderFault("permanent", f"the path of the request leads away from {self._judge.name}")
        return httpx2.URL(self._judge.url.rstrip("/") + path)

    def _build_headers(self, written: Mapping[str, Any]) -> dict[str, str]:
        found = {}
        for name, value in (written.get("headers") or {}).items():
            text = str(fill_placeholders(value, self._values))
            if name.lower() in _OURS or not (text.isascii() and text.isprintable()):
                raise ProviderFault("permanent", f"a request cannot set the header {str(name)[:40]!r} so")
            found[name.lower()] = text
        return found

    def _refuse_unfilled(self, written: Mapping[str, Any]) -> None:
        missing = [name for name in find_placeholders(dict(written)) if name not in self._values]
        if missing:
            message = f"nothing fills {{{{{missing[0]}}}}} in the request"
            raise ProviderFault("permanent", f"{message}; set {variable_of(missing[0])} and name it")

    def _hide_secrets(self, text: str) -> str:
        for name, value in self._values.items():
            if len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, f"{{{{{name}}}}}")
        return text


def _json_or_text(text: str) -> Any:
    """The value if the text is JSON, None if it is empty, else the text."""
    if not text:
        return None
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return text
