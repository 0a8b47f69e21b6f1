"""Translates regular expressions from JavaScript to Python's re, keeping their meaning."""

import re
from dataclasses import dataclass

_FLAGS: dict[str, str | None] = {
    "i": "ignorecase",
    "m": "multiline",
    "s": "dotall",
    "d": None,  # positions of groups, which are not used here
    "g": None,  # a search finds the first match either way
    "u": None,
    "y": None,  # handled by the pattern
}
_WORD, _DIGIT = "A-Za-z0-9_", "0-9"
_SETS = {"d": f"[{_DIGIT}]", "D": f"[^{_DIGIT}]", "w": f"[{_WORD}]", "W": f"[^{_WORD}]"}
_IN_SET = {"d": _DIGIT, "w": _WORD, "b": "\\x08"}
_LINE_ENDS = r"\n\r\u2028\u2029"
_KEPT_ESCAPES = frozenset("fnrtvsS")
_REPEAT = re.compile(r"[*+?]|\{\d+(?:,\d*)?\}")
_HEX = {"x": re.compile(r"x[0-9a-fA-F]{2}"), "u": re.compile(r"u[0-9a-fA-F]{4}")}
_CODE_POINT = re.compile(r"u\{([0-9a-fA-F]{1,6})\}")
_GROUP_NAME = re.compile(r"<([A-Za-z_][A-Za-z0-9_]*)>")
_GROUPS = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
_MODIFIERS = re.compile(r"\(\?(?:[ims]+(?:-[ims]+)?|-[ims]+):")


def to_python(pattern: str, flags: str = "") -> tuple[str, list[str]]:
    """Return the Python pattern and its flags' names; raise ValueError, with a remedy, if there is none."""
    unknown = [flag for flag in flags if flag not in _FLAGS]
    if unknown:
        raise ValueError(f"flag {unknown[0]!r} has no counterpart; leave it out")
    translated = _Translation(pattern, has_dotall="s" in flags, has_multiline="m" in flags).result()
    if "y" in flags:
        translated = rf"\A(?:{translated})"
    names = [_FLAGS[flag] for flag in dict.fromkeys(flags)]
    return translated, [name for name in names if name]


@dataclass
class _Translation:
    """Translates a pattern in one pass."""

    pattern: str
    has_dotall: bool
    has_multiline: bool
    at: int = 0

    def result(self) -> str:
        parts = []
        while self.at < len(self.pattern):
            parts.append(self._next())
        return "".join(parts)

    def _next(self) -> str:
        match self.pattern[self.at]:
            case "\\":
                return self._escape()
            case "[":
                return self._set()
            case "(":
                return self._group()
            case "{" | "*" | "+" | "?":
                return self._repeat()
            case ".":
                return self._take(1, "." if self.has_dotall else f"[^{_LINE_ENDS}]")
            case "$":
                return self._take(1, "$" if self.has_multiline else r"\Z")
        return self._take(1, self.pattern[self.at])

    def _take(self, length: int, text: str) -> str:
        self.at += length
        return text

    def _repeat(self) -> str:
        """Translate a repeat and the `?` that makes it lazy; a brace without a count is text."""
        found = _REPEAT.match(self.pattern, self.at)
        if found is None:
            return self._take(1, r"\{")
        text = found[0]
        after = self.pattern[found.end() : found.end() + 1]
        if after == "?":
            text += "?"
        elif after in ("*", "+"):  # possessive in Python, an error in JavaScript
            raise ValueError("two repeats in a row; put the first one in a group")
        return self._take(len(text), text)

    def _group(self) -> str:
        for opening in _GROUPS:
            if self.pattern.startswith(opening, self.at):
                return self._take(len(opening), opening)
        modified = _MODIFIERS.match(self.pattern, self.at)
        if modified:
            return self._take(len(modified[0]), modified[0])
        if not self.pattern.startswith("(?", self.at):
            return self._take(1, "(")
        name = _GROUP_NAME.match(self.pattern, self.at + 2)
        if name is None:
            raise ValueError(f"a group that begins {self.pattern[self.at : self.at + 4]!r}; write (?:…)")
        return self._take(2 + len(name[0]), f"(?P<{name[1]}>")

    def _escape(self) -> str:
        letter = self.pattern[self.at + 1 : self.at + 2]
        match letter:
            case "":
                raise ValueError("a backslash at the end; write two for one that is meant")
            case "d" | "D" | "w" | "W":
                return self._take(2, _SETS[letter])
            case "b" | "B":
                return self._take(2, rf"(?a:\{letter})")
            case "k":
                return self._named_reference()
        return self._escaped_character(letter)

    def _named_reference(self) -> str:
        name = _GROUP_NAME.match(self.pattern, self.at + 2)
        return self._take(2 + len(name[0]), f"(?P={name[1]})") if name else self._take(2, "k")

    def _escaped_character(self, letter: str) -> str:
        """Translate an escape that means the same inside a set and outside."""
        hexadecimal = _HEX.get(letter)
        found = hexadecimal.match(self.pattern, self.at + 1) if hexadecimal else None
        if found:
            return self._take(1 + len(found[0]), f"\\{found[0]}")
        code = _CODE_POINT.match(self.pattern, self.at + 1)
        if code:
            return self._take(1 + len(code[0]), _character(code[1]))
        if letter in "pP" and self.pattern.startswith("{", self.at + 2):
            raise ValueError(f"\\{letter}{{…}} has no counterpart; list the characters in a set")
        if letter == "c" and self.pattern[self.at + 2 : self.at + 3].isalpha():
            return self._take(3, f"\\x{ord(self.pattern[self.at + 2]) % 32:02x}")
        if letter in _KEPT_ESCAPES or letter.isdecimal() or not letter.isalnum():
            return self._take(2, f"\\{letter}")
        return self._take(2, letter)  # an unknown escape is the letter itself

    def _set(self) -> str:
        negated = self.pattern.startswith("[^", self.at)
        self._take(2 if negated else 1, "")
        parts: list[str] = []
        while self.at < len(self.pattern) and self.pattern[self.at] != "]":
            parts.append(self._member())
        if self.at >= len(self.pattern):
            raise ValueError("a set that is not closed; add the ]")
        self._take(1, "")
        if not parts:
            return r"[\s\S]" if negated else r"(?!)"
        return f"[{'^' if negated else ''}{''.join(parts)}]"

    def _member(self) -> str:
        character = self.pattern[self.at]
        if character == "\\":
            letter = self.pattern[self.at + 1 : self.at + 2]
            if letter in _IN_SET:
                return self._take(2, _IN_SET[letter]) + self._plain_dash()
            if letter in "DWsS" and letter:
                return self._take(2, f"\\{letter}") + self._plain_dash()
            return self._escaped_character(letter) if letter else self._take(1, r"\\")
        # Python reserves these, doubled or at the beginning of a nested set, for set operations.
        is_reserved = character in "[&|~" or self.pattern.startswith("--", self.at)
        return self._take(1, f"\\{character}" if is_reserved else character)

    def _plain_dash(self) -> str:
        """Escape a dash after a set: no range begins there."""
        return self._take(1, r"\-") if self.pattern.startswith("-", self.at) else ""


def _character(code: str) -> str:
    number = int(code, 16)
    if number > 0x10FFFF:
        raise ValueError("a code point beyond the last one; write 10FFFF at most")
    return f"\\U{number:08x}"
