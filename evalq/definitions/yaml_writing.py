"""Values as YAML that our own reading takes for the same values."""

import re
from typing import Any

import yaml

from evalq.definitions.yaml_text import FLOAT, INTEGER, NOT_FINITE

_RARE_LINE_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")


class _Dumper(yaml.SafeDumper):
    """Puts in quotes what our own reading of plain words would not take for text, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """A value that stands in two places is written in both: our own reading refuses aliases."""
        del data
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if _RARE_LINE_BREAKS.search(text):
        style = '"'  # the only style that writes them as escapes; the others turn them into spaces
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
for _tag, _pattern in (("int", INTEGER), ("float", FLOAT), ("float", NOT_FINITE)):
    _Dumper.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern.pattern})\Z"), list("-+.0123456789")
    )


def yaml_of(value: Any) -> str:
    """The value as a document of block style, keys in their order."""
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
