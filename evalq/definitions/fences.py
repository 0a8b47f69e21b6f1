"""Takes the code fence off a text that is fenced as a whole, in one pass over it."""

_MARK = "```"


def unfence(text: str) -> str:
    """The text inside a code fence around all of it; a text without one as it is.

    Not a regular expression: models write blank lines by the thousand, and one with two repeats of whitespace
    would try every way to share them.
    """
    opening, line_end, rest = text.strip().partition("\n")
    tag = opening.removeprefix(_MARK).rstrip()
    is_opening = opening.startswith(_MARK) and (not tag or (tag.isascii() and tag.isalpha()))
    if not line_end or not is_opening or not rest.endswith(_MARK):
        return text
    return rest.removesuffix(_MARK).rstrip(" \t").removesuffix("\n")
