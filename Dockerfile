# One image for every part of a fleet: worker, beat, web, flower and the command line.
FROM python:3.13.9-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE CHANGELOG.md ./
COPY evalq evalq
COPY workers workers
COPY schema schema
COPY tasks tasks
COPY evalsets evalsets
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir -c constraints.txt .

FROM python:3.13.9-slim
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 evalq && install -d -m 1777 /spool
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
USER evalq
WORKDIR /home/evalq
CMD ["evalq", "--help"]
