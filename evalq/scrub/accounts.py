"""Numbers that name a person's account or papers: cards, IBANs, social security, passports and tax ids."""

import re
from collections.abc import Iterator

from evalq.scrub.checks import IBAN_LENGTH, is_card_number, is_iban
from evalq.scrub.span import Place

_GAP = r"[ \u00a0\u202f.\u2010-\u2013-]{1,2}"
_CARD = re.compile(
    r"(?<![\w.])(?=("
    rf"\d{{4}}{_GAP}\d{{4}}{_GAP}\d{{4}}{_GAP}\d{{4}}(?:{_GAP}\d{{1,3}})?"
    rf"|\d{{4}}{_GAP}\d{{6}}{_GAP}\d{{4,5}}"
    rf"|\d{{4}}{_GAP}\d{{3}}{_GAP}\d{{3}}{_GAP}\d{{3}}"
    r"|\d{13,19})(?!\w|[.,]\d))"
)
# Groups of other sizes count only when the whole run of digits makes one card.
_RUN = re.compile(rf"(?<![\w.,+-])\d{{1,19}}(?:{_GAP}\d{{1,19}}){{1,8}}(?!\w|[.,]\d)")

_IBAN = re.compile(r"(?<![^\W_])(?=([A-Za-z]{2}\d{2}(?:[ \u00a0-]?[A-Za-z0-9]){11,30}))")
_SSN = re.compile(
    r"(?<![\w.-])(?!000|666|9)\d{3}(?P<s>[ \u2010-\u2013-]?)(?!00)\d{2}(?P=s)(?!0000)\d{4}(?!\w|-\d|[.,]\d)"
)
_SSN_LABEL = re.compile(r"(?i)(?<![^\W_])(?:ssn|social security)[^\d\n]{0,24}\Z")
_ID_LABELS = (
    r"(?:passport|driver'?s? licen[cs]e|national insurance)(?: (?:no|number))?"
    r"|tax id|reisepass(?:nummer)?|(?:personal)?ausweis(?:nummer|nr)?|steuer-?id(?:nummer)?|steuernummer"
    r"|sozialversicherungsnummer|cccd|cmnd|căn cước(?: công dân)?|chứng minh (?:nhân dân|thư)|hộ chiếu"
    r"|mã số thuế"
)
_ID_NUMBER = re.compile(
    rf"(?i)(?<!\w)(?:{_ID_LABELS})(?!\w)[^\w\n]{{0,3}}(?:(?:nr|no|number|số|is|ist|là|lautet)(?!\w)[^\w\n]{{0,3}}){{0,2}}"
    r"(?=[A-Za-z]{0,3}\d|[A-Za-z]{2} \d)(?P<id>[A-Za-z0-9](?:[ /-]?[A-Za-z0-9]){5,17})(?!\w)"
)


def find_cards(text: str) -> Iterator[Place]:
    """Payment cards: 13 to 19 digits, in groups or not, that pass Luhn."""
    for found in _CARD.finditer(text):
        if is_card_number(_digits(found[1])):
            yield found.span(1)
    for found in _RUN.finditer(text):
        if is_card_number(_digits(found[0])):
            yield found.span()


def find_ibans(text: str) -> Iterator[Place]:
    """IBANs of every country that has them, with or without spaces, that pass mod 97."""
    for found in _IBAN.finditer(text):
        end = _end_of_iban(found[1])
        if end and is_iban(re.sub(r"[\s-]", "", found[1][:end])):
            yield found.start(), found.start() + end


def _end_of_iban(text: str) -> int:
    """Where the country's length is reached: a word may follow; 0 when it never is, or in mid-word."""
    wanted, end = IBAN_LENGTH.get(text[:2].upper(), 99), 0
    for end, char in enumerate(text, start=1):
        wanted -= char.isalnum()
        if not wanted:
            return end if end == len(text) or not text[end].isalnum() else 0
    return 0


def find_ssns(text: str) -> Iterator[Place]:
    """US social security numbers: with hyphens anywhere, otherwise only where they are called so."""
    for found in _SSN.finditer(text):
        is_hyphened = found["s"] not in ("", " ")
        if is_hyphened or _SSN_LABEL.search(text, max(0, found.start() - 48), found.start()):
            yield found.span()


def find_id_numbers(text: str) -> Iterator[Place]:
    """Passports, identity cards, driving licences, tax and insurance numbers, where they are called so."""
    for found in _ID_NUMBER.finditer(text):
        start, end = found.span("id")
        place = _up_to_last_digit(text, start, end)
        if sum(char.isdecimal() for char in text[slice(*place)]) >= 5:
            yield place


def _up_to_last_digit(text: str, start: int, end: int) -> Place:
    """Words after the number are not part of it, but for the one letter some numbers end with."""
    groups = list(re.finditer(r"[A-Za-z0-9]+", text[start:end]))
    last = max((one.end() for one in groups if re.search(r"\d", one[0])), default=0)
    letter = re.match(r" [A-Z](?!\w)", text[start + last : end + 1])
    return start, start + last + (letter.end() if letter else 0)


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdecimal())
