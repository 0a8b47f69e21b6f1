"""The edit distance of two texts."""


def edit_distance(one: str, other: str) -> int:
    """The fewest letters to insert, remove or replace to make one text the other: Levenshtein's distance.

    Bit-parallel, after Myers (J. ACM 46, 1999) and Hyyrö (2003): a column of the table is one long integer,
    so a text of n letters costs n steps whatever the other's length is, within reason.
    """
    if not one:
        return len(other)
    places: dict[str, int] = {}
    for i, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << i
    full, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    rises, falls, distance = full, 0, len(one)
    for letter in other:
        equal = places.get(letter, 0)
        vertical = equal | falls
        horizontal = (((equal & rises) + rises) ^ rises) | equal
        up = falls | ~(horizontal | rises) & full
        down = rises & horizontal
        distance += bool(up & last) - bool(down & last)
        up, down = up << 1 | 1, down << 1
        rises, falls = (down | ~(vertical | up)) & full, up & vertical & full
    return distance


def similarity(one: str, other: str) -> float:
    """From 0, nothing in common, to 1, the same: one less the distance over the longer length."""
    longer = max(len(one), len(other))
    return 1 - edit_distance(one, other) / longer if longer else 1.0
