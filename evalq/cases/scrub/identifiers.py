"""Finds numbers that identify a person: cards, IBANs, social security, passports, tax ids and phones."""

import re
from collections.abc import Iterator

from evalq.cases.scrub.span import Place

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

# ISO 13616: how long an IBAN is in each country that has them.
_IBAN_LENGTHS = {
    15: "NO",
    16: "BE",
    18: "DK FI FK FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH CR HR LI LV",
    22: "BG BH DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
IBAN_LENGTH = {country: length for length, names in _IBAN_LENGTHS.items() for country in names.split()}

_DATE = re.compile(
    r"(?P<y>\d{4})(?P<s>[./-])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?!\d)"
    r"|(?P<a>\d{1,2})(?P<t>[./-])(?P<b>\d{1,2})(?P=t)(?:\d{4}|\d{2})(?!\d)"
    r"|(?P<e>\d{1,2}) (?P<f>\d{1,2}) (?:19|20)\d{2}(?!\d)"
)

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


def find_cards(text: str) -> Iterator[Place]:
    """Payment cards: 13 to 19 digits, in groups or not, that pass Luhn."""
    for found in _CARD.finditer(text):
        if is_card_number(_digits_of(found[1])):
            yield found.span(1)
    for found in _RUN.finditer(text):
        if is_card_number(_digits_of(found[0])):
            yield found.span()


def find_ibans(text: str) -> Iterator[Place]:
    """IBANs of every country that has them, with or without spaces, that pass mod 97."""
    for found in _IBAN.finditer(text):
        end = _end_of_iban(found[1])
        if end and is_iban(re.sub(r"[\s-]", "", found[1][:end])):
            yield found.start(), found.start() + end


def _end_of_iban(text: str) -> int:
    """Where the country's length is reached, since a word may follow; 0 if never, or in mid-word."""
    missing = IBAN_LENGTH.get(text[:2].upper(), 99)
    for end, char in enumerate(text, start=1):
        missing -= char.isalnum()
        if missing == 0:
            is_whole = not text[end : end + 1].isalnum()
            return end if is_whole else 0
    return 0


def find_ssns(text: str) -> Iterator[Place]:
    """US social security numbers: with hyphens anywhere, otherwise only after such a label."""
    for found in _SSN.finditer(text):
        is_hyphened = found["s"] not in ("", " ")
        if is_hyphened or _SSN_LABEL.search(text, max(0, found.start() - 48), found.start()):
            yield found.span()


def find_id_numbers(text: str) -> Iterator[Place]:
    """Numbers of passports, identity cards, driving licences, tax and insurance, after such a label."""
    for found in _ID_NUMBER.finditer(text):
        start, end = found.span("id")
        place = _up_to_last_digit(text, start, end)
        if sum(char.isdecimal() for char in text[slice(*place)]) >= 5:
            yield place


def _up_to_last_digit(text: str, start: int, end: int) -> Place:
    """Words after the number are not part of it, except the single letter some numbers end with."""
    last = start
    for group in re.finditer(r"[A-Za-z0-9]+", text[start:end]):
        if re.search(r"\d", group[0]):
            last = start + group.end()
    letter = re.match(r" [A-Z](?!\w)", text[last : end + 1])
    if letter:
        last += letter.end()
    return start, last


def find_phones(text: str) -> Iterator[Place]:
    """Phone numbers by their form or by a label before them; not dates, versions, ids or prices."""
    if not _SEVEN_DIGITS.search(text):
        return
    for start, end in (*_with_country(text), *_without_country(text), *_labelled(text)):
        extension = _EXTENSION.match(text, end)
        if extension:
            end = extension.end()
        yield start, end


def _with_country(text: str) -> Iterator[Place]:
    for found in _INTERNATIONAL.finditer(text):
        place = _trim_international(text, *found.span())
        if place:
            yield place
    for found in _DOUBLE_ZERO.finditer(text):
        has_gap = not found[0].isdecimal()
        if has_gap and _country_code(_digits_of(found[0])[2:]) and not _is_other_number(text, found.start()):
            yield found.span()


def _trim_international(text: str, start: int, end: int) -> Place | None:
    """The number without other digits that follow, by its country's longest; None if no country has it."""
    if text[start] == "(" and ")" not in text[start:end]:
        start += 1
    digits = _digits_of(text[start:end])
    country = _country_code(digits)
    most = _MOST_DIGITS.get(country, 15)
    if not country or (country == "1" and len(digits) < most):
        return None
    if len(digits) > most:
        places = [place for place in range(start, end) if text[place].isdecimal()]
        last_end = places[most - 1] + 1
        if not text[last_end].isdecimal():
            end = last_end
    return start, end


def _country_code(digits: str) -> str:
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
        start = found.start()
        number = _trim_national(found[0])
        at = start + max(len(number), 1)
        follows_a_number = 0 < last_end == start - 1
        if _is_national(text, start, number) and (follows_a_number or not _is_other_number(text, start)):
            last_end = at
            yield start, at


def _is_national(text: str, start: int, number: str) -> bool:
    if begins_with_date(number):
        return False
    is_area_marked = "/" in number or "(" in number or _PHONE_LABEL.search(*_before(text, start))
    fewest = 7 if is_area_marked else 9
    return len(_digits_of(number)) >= fewest


def _trim_national(text: str) -> str:
    """The groups of up to twelve digits: no national number has more, so the rest is another one."""
    end = 0
    n_digits = 0
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
    """True after a label such as order or invoice and none of a phone, or inside a longer number."""
    before = _before(text, start)
    if _IN_A_LONGER_NUMBER.search(*before):
        return True
    return bool(_OTHER_LABEL.search(*before)) and not _PHONE_LABEL.search(*before)


def _before(text: str, start: int) -> tuple[str, int, int]:
    return text, max(0, start - 32), start


def _digits_of(text: str) -> str:
    return "".join(char for char in text if char.isdecimal())


def passes_luhn(digits: str) -> bool:
    """True when the check digit of a payment card is right: ISO/IEC 7812-1."""
    total = sum(int(digit) for digit in digits[-1::-2])
    for digit in digits[-2::-2]:
        doubled = int(digit) * 2
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def is_card_number(digits: str) -> bool:
    """13 to 19 digits that pass Luhn and begin as cards do: 3 to 6, or Mastercard's 2221 to 2720."""
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1:
        return False
    begins_well = digits[0] in "3456" or (len(digits) == 16 and 2221 <= int(digits[:4]) <= 2720)
    return begins_well and passes_luhn(digits)


def is_iban(compact: str) -> bool:
    """ISO 13616: the country's length, and mod 97 is 1 with the first four characters at the end."""
    text = compact.upper()
    if IBAN_LENGTH.get(text[:2]) != len(text):
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def begins_with_date(text: str) -> bool:
    """2024-05-21, 21.05.2024, 5/21/24 and the like, with a day and a month that exist."""
    found = _DATE.match(text.lstrip("("))
    if found is None:
        return False
    first, second = (int(found[one]) for one in "mdabef" if found[one])
    return 1 <= min(first, second) <= 12 and max(first, second) <= 31
