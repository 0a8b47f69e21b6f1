"""Requests that cases name themselves, to a system under test, and its whole response as the answer."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import httpx2

from evalq.definitions.judge import HttpJudge
from evalq.definitions.placeholders import filled, names_in, variable_of
from evalq.errors import ProviderFault
from evalq.providers.keys import read_variable
from evalq.providers.reading import read_json
from evalq.providers.transport import client
from evalq.records import Prompt

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection"})
"""Headers that say where a request goes and how long it is: not for a case to write."""

_UNKEPT = frozenset({"set-cookie", "date", "server", "connection", "keep-alive", "content-length"})
_SHORTEST_SECRET = 4


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
        """What no message may say."""
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
        body = filled(written.get("body"), self._values)
        content = body if isinstance(body, str) else None
        return client.build_request(
            method,
            self._url(written),
            json=None if body is None or content is not None else body,
            content=content,
            headers={**headers, **self._headers(written)},
            timeout=self._judge.deadline_s,
        )

    def answer(self, response: httpx2.Response) -> str:
        """The response as JSON; a value that fills a placeholder stands there as that placeholder."""
        headers = {
            name.lower(): self._hidden(value)
            for name, value in response.headers.items()
            if name.lower() not in _UNKEPT
        }
        text = self._hidden(response.text)
        whole = {"status": response.status_code, "headers": headers, "body": _read(text)}
        return json.dumps(whole, ensure_ascii=False)

    def _url(self, written: Mapping[str, Any]) -> httpx2.URL:
        quoted = {name: quote(value, safe="") for name, value in self._values.items()}
        path = str(filled(written.get("path", "/"), quoted))
        query = filled(written.get("query") or {}, self._values)
        if query:
            path += ("&" if "?" in path else "?") + urlencode(query, doseq=True)
        if not path.startswith("/") or path.startswith("//"):
            raise ProviderFault("permanent", f"the path of the request leads away from {self._judge.name}")
        return httpx2.URL(self._judge.url.rstrip("/") + path)

    def _headers(self, written: Mapping[str, Any]) -> dict[str, str]:
        found = {}
        for name, value in (written.get("headers") or {}).items():
            text = str(filled(value, self._values))
            if name.lower() in _OURS or not (text.isascii() and text.isprintable()):
                raise ProviderFault("permanent", f"a request cannot set the header {str(name)[:40]!r} so")
            found[name.lower()] = text
        return found

    def _refuse_unfilled(self, written: Mapping[str, Any]) -> None:
        missing = [name for name in names_in(dict(written)) if name not in self._values]
        if missing:
            message = f"nothing fills {{{{{missing[0]}}}}} in the request"
            raise ProviderFault("permanent", f"{message}; set {variable_of(missing[0])} and name it")

    def _hidden(self, text: str) -> str:
        for name, value in self._values.items():
            if len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, f"{{{{{name}}}}}")
        return text


def _read(text: str) -> Any:
    """JSON where it is JSON; null for nothing."""
    if not text:
        return None
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return text
