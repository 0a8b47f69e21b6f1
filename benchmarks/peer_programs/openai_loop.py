"""What people write first: AsyncOpenAI, a semaphore, and a table at the end."""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI


async def main() -> None:
    """Ask every question of the file, so many at once."""
    url, file, at_once = sys.argv[1:]
    questions = [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    free, passed = asyncio.Semaphore(int(at_once)), Counter[str]()

    async def ask(question: dict[str, Any]) -> None:
        async with free:
            reply = await client.chat.completions.create(**question["request"])
        answer = reply.choices[0].message.content or ""
        passed[question["request"]["model"]] += question["expected"] in answer

    await asyncio.gather(*(ask(question) for question in questions))
    for model, n in sorted(passed.items()):
        print(f"{model}\t{n}")


if __name__ == "__main__":
    asyncio.run(main())
