"""`python -m evalq` is the same program as `evalq`."""

from evalq.cli.main import run

run()
