"""Any JSON endpoint as a judge: a request by template, and the answer by its path in the reply."""

import json
import re
import time
from collections.abc import Mapping

import httpx2

from evalq.definitions.judge import HttpJudge
from evalq.errors import ProviderFault
from evalq.providers.faults import FaultsOf, Party, refused
from evalq.providers.keys import read_key, read_variable
from evalq.providers.reading import elapsed_ms
from evalq.providers.transport import call_headers, client
from evalq.records import Completion, Prompt

_MANY = re.compile(r"\*|\.\.|\?|,|:")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~\w-]+", re.ASCII)


class HttpAdapter:
    """Sends one request per call; a path that can find several values has their list as its answer."""

    def __init__(self, judge: HttpJudge, environ: Mapping[str, str]) -> None:
        from jsonpath_ng import JSONPath, parse
        from jsonpath_ng.exceptions import JsonPathParserError

        self._judge = judge
        secrets = {
            name: read_variable(variable, environ, wanted_by=judge.name)
            for name, variable in judge.headers_env.items()
        }
        key = read_key(judge, environ)
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._headers |= {name.lower(): value for name, value in (judge.headers | secrets).items()}
        self._party = Party(judge.name, _names_of_keys(judge), (*secrets.values(), *((key,) if key else ())))
        _check_headers(judge, self._headers)
        _check_templates(judge, judge.body)
        try:
            self._path: JSONPath = parse(judge.answer)
        except JsonPathParserError as exc:
            raise ProviderFault("fatal", f"{judge.name}: answer {judge.answer!r} is not a JSONPath") from exc

    def complete(self, prompt: Prompt) -> Completion:
        """One request."""
        with FaultsOf(self._party, prompt):
            request = self._request(prompt)
            started = time.perf_counter()
            response = client.send(request)
            if response.status_code != 200:
                raise refused(response, self._party, prompt)
            return self._completion(response, elapsed_ms(started))

    def _request(self, prompt: Prompt) -> httpx2.Request:
        values = {**prompt.about.inputs, "system": prompt.system, "user": prompt.user}
        judge, body = self._judge, _filled(self._judge.body, values)
        is_query = judge.method == "GET"
        return client.build_request(
            judge.method,
            judge.url,
            params=body if is_query else None,
            json=None if is_query else body,
            headers={**self._headers, **call_headers(prompt)},
            timeout=judge.deadline_s,
        )

    def _completion(self, response: httpx2.Response, latency_ms: int) -> Completion:
        found = [match.value for match in self._path.find(json.loads(response.content))]
        answer = found if _MANY.search(self._judge.answer) else found[0] if found else None
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        if not found:
            state, text = "malformed", response.text
        else:
            state = "answered"
        return Completion(state, text, latency_ms=latency_ms, model=self._judge.model)
