"""Numbers that name a person's account or papers: cards, IBANs, social security, passports and tax ids."""

import re
from collections.abc import Iterator

from evalq.cases.scrub.span import IBAN_LENGTH, Place, begins_with_date, is_card_number, is_iban

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
        if is_card_number(_digits_only(found[1])):
            yield found.span(1)
    for found in _RUN.finditer(text):
        if is_card_number(_digits_only(found[0])):
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


def _digits_only(text: str) -> str:
    return "".join(char for char in text if char.isdecimal())


_MARKS = r" \u00a0\u202f()./\u2010-\u2013-"
_MARKS_BUT_DOT = r" \u00a0\u202f()/\u2010-\u2013-"
# Not inside a longer number, a decimal, a path or a word.
_START = r"(?<![\w.,/+#-])"
_END = r"(?!\w|[.,]\d)"

_SEVEN_DIGITS = re.compile(rf"\d(?:[{_MARKS}]{{0,3}}\d){{6}}")
_INTERNATIONAL = re.compile(rf"(?<![\w+])\(?\+(?:[{_MARKS}]{{0,3}}\d){{8,15}}(?!\w)")
_DOUBLE_ZERO = re.compile(rf"{_START}00[1-9](?:[{_MARKS}]{{0,3}}\d){{8,13}}{_END}")
_AMERICAN = re.compile(
    rf"{_START}(?:1[-. ])?(?:\([2-9]\d\d\)[ -]?[2-9]\d\d[-. ]|[2-9]\d\d([-.])[2-9]\d\d\1)\d{{4}}"
    r"(?!\w|[-.,]\d)"
)
_NATIONAL = re.compile(
    rf"{_START}\(?0[1-9]\d{{0,4}}\)?(?:[{_MARKS}]{{1,3}}\d{{2,8}}){{1,5}}(?:-\d{{1,5}})?{_END}"
)
# Vietnamese, British and German mobiles are known by their first digits even when written in one piece.
_MOBILE = re.compile(rf"{_START}(?:0[35789]\d{{8}}|07\d{{9}}|01[567]\d{{8,9}})(?!\w|[.,-]\d)")

_LABELS = (
    r"tel|telephone|phone(?:[ _-]?n(?:umber|o))?|mobile|cell|call|fax|whatsapp|zalo|hotline"
    r"|telefon(?:nummer)?|handy(?:nummer)?|mobil|rufnummer|rückruf|anrufen"
    r"|điện thoại|đt|sđt|di động|số máy|gọi|liên hệ"
)
_LABELLED = re.compile(
    rf"(?i)(?<![^\W_])(?:{_LABELS})(?![^\W_])[^\n\d+(\[]{{0,16}}"
    rf"(?P<number>[(+]?\d(?:[{_MARKS_BUT_DOT}]{{0,2}}\d){{6,14}})(?!\w|[.,]\d|-\d)"
)
_PHONE_LABEL = re.compile(rf"(?i)(?<![^\W_])(?:{_LABELS})(?![^\W_])[^\n\d]{{0,16}}\Z")
_OTHER_LABEL = re.compile(
    r"(?i)(?:#|(?<![^\W_])(?:nr|no|number|numbers|id|ref|reference|order|invoice|ticket|case|tracking|serial|sku|isbn"
    r"|bestellung|bestellnummer|rechnung|rechnungsnummer|vorgang|kundennummer|az|aktenzeichen|artikel"
    r"|mã|mã số|đơn|đơn hàng|hóa đơn|số hiệu))[\s.:#]{0,4}\Z"
)
_IN_A_LONGER_NUMBER = re.compile(r"(?<![\d./:-])\d{1,9} \Z")
_EXTENSION = re.compile(r"(?i)[ ,]{0,2}(?:ext\.?|extension|x|durchwahl|dw|máy lẻ)[ .:]{0,2}\d{1,5}(?!\w)")

# E.164: country codes of one and two digits, and what those of three begin with.
_COUNTRY = re.compile(
    r"[17]|2[07]|3[0-4679]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]"
    r"|(?:2[1-6]|29|35|37|38|42|50|59|67|68|69|80|85|87|88|96|97|99)\d"
)
_MOST_NATIONAL = 12
_MOST_DIGITS = {"1": 11, "44": 12, "84": 12}


def find_phones(text: str) -> Iterator[Place]:
    """Phone numbers by their form, or by the word before them; not dates, versions, ids or prices."""
    if not _SEVEN_DIGITS.search(text):
        return
    for start, end in (*_with_country(text), *_without_country(text), *_labelled(text)):
        extension = _EXTENSION.match(text, end)
        yield start, extension.end() if extension else end


def _with_country(text: str) -> Iterator[Place]:
    for found in _INTERNATIONAL.finditer(text):
        place = _cut(text, found.span())
        if place:
            yield place
    for found in _DOUBLE_ZERO.finditer(text):
        has_gap = not found[0].isdecimal()
        if has_gap and _country(_digits(found[0])[2:]) and not _is_other_number(text, found.start()):
            yield found.span()


def _cut(text: str, place: Place) -> Place | None:
    """The number without what follows it, where its country says how long it may be; None if none has it."""
    start, end = place
    start += text[start] == "(" and ")" not in text[start:end]
    digits = _digits(text[start:end])
    country = _country(digits)
    most = _MOST_DIGITS.get(country, 15)
    if not country or (country == "1" and len(digits) < most):
        return None
    if len(digits) > most:
        at = [place for place in range(start, end) if text[place].isdecimal()]
        end = at[most - 1] + 1 if not text[at[most - 1] + 1].isdecimal() else end
    return start, end


def _country(digits: str) -> str:
    """The country code a number begins with; "" when no country has it."""
    found = _COUNTRY.match(digits)
    return found[0] if found else ""


def _without_country(text: str) -> Iterator[Place]:
    for pattern in (_AMERICAN, _MOBILE):
        for found in pattern.finditer(text):
            if not _is_other_number(text, found.start()):
                yield found.span()
    yield from _national(text)


def _national(text: str) -> Iterator[Place]:
    """Numbers that begin with 0 and an area, one after the other: the next may begin where one ends."""
    at = last_end = 0
    while found := _NATIONAL.search(text, at):
        start, number = found.start(), _without_what_follows(found[0])
        at = start + max(len(number), 1)
        follows_a_number = 0 < last_end == start - 1
        if _is_national(text, start, number) and (follows_a_number or not _is_other_number(text, start)):
            last_end = at
            yield start, at


def _is_national(text: str, start: int, number: str) -> bool:
    is_area_marked = "/" in number or "(" in number or _PHONE_LABEL.search(*_before(text, start))
    is_long_enough = len(_digits(number)) >= (7 if is_area_marked else 9)
    return is_long_enough and not begins_with_date(number)


def _without_what_follows(text: str) -> str:
    """Groups of digits up to twelve of them: no national number has more, so the rest is another one."""
    end = n_digits = 0
    for group in re.finditer(r"\d+", text):
        n_digits += len(group[0])
        if n_digits > _MOST_NATIONAL:
            break
        end = group.end()
    return text[:end]


def _labelled(text: str) -> Iterator[Place]:
    for found in _LABELLED.finditer(text):
        if not begins_with_date(found["number"]):
            yield found.span("number")


def _is_other_number(text: str, start: int) -> bool:
    """Called an order, an invoice, an id, and not a phone number; or a later group of some other number."""
    before = _before(text, start)
    if _IN_A_LONGER_NUMBER.search(*before):
        return True
    return bool(_OTHER_LABEL.search(*before)) and not _PHONE_LABEL.search(*before)


def _before(text: str, start: int) -> tuple[str, int, int]:
    return text, max(0, start - 32), start


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdecimal())
