"""The least there is: coroutines that write requests to sockets and read answers, and a table at the end."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


async def ask_all(url: str, questions: Iterator[dict[str, Any]], passed: "Counter[str]") -> None:
    """Ask one question after the other over one connection."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    for question in questions:
        body = json.dumps(question["request"]).encode()
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer none\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await read_answer(reader)
        passed[question["request"]["model"]] += question["expected"] in answer
    writer.close()


async def read_answer(reader: asyncio.StreamReader) -> str:
    """The text of one answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    assert head.startswith("http/1.1 200 "), head
    length = int(head.partition("content-length:")[2].partition("\r\n")[0])
    document = json.loads(await reader.readexactly(length))
    return str(document["choices"][0]["message"]["content"])


async def main() -> None:
    """Ask every question of the file, so many at once."""
    url, file, at_once = sys.argv[1:]
    questions = [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]
    queue, passed = iter(questions), Counter[str]()
    await asyncio.gather(*(ask_all(url, queue, passed) for _ in range(int(at_once))))
    for model, n in sorted(passed.items()):
        print(f"{model}\t{n}")


if __name__ == "__main__":
    asyncio.run(main())
