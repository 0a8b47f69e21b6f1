"""Finds ways to reach or recognise a person: e-mail, IP and street addresses, dates of birth."""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from evalq.cases.scrub.span import Place

_LOCAL_PART = re.compile(r"[\w.%+'-]+\Z")
_DOMAIN = re.compile(r"(?:@|%40)(?:[^\W_](?:[\w-]{0,62})\.){1,8}(?P<top>[^\W\d_]{2,24})(?![^\W_])")
_SPELT_OUT = re.compile(
    r"(?i)(?<![\w.%+-])[\w.%+-]{1,64}[ ]?(?:\(at\)|\[at\]|\{at\})[ ]?"
    r"[^\W_][\w-]{0,62}"
    r"(?:(?:[ ]?(?:\(dot\)|\[dot\]|\{dot\}|\(punkt\)|\[punkt\])[ ]?|\.)[^\W_][\w-]{0,62}){1,6}"
)
# logo@2x.png is a picture, not a mailbox.
_FILE_ENDINGS = {"png", "jpg", "jpeg", "gif", "svg", "webp", "js", "css", "html"}

_IN_URL_LOGIN = re.compile(r"://[^\s/?#]{0,200}\Z")

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = re.compile(rf"(?<![\w.])(?:{_OCTET}\.){{3}}{_OCTET}(?![\w]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{3,39}(?:\.\d{1,3}){0,3}(?![\w:])")
_VERSION = re.compile(
    r"(?i)(?:(?<![^\W\d_])(?:v|ver|version|build|release|firmware|phiên bản|section|chapter|table"
    r"|abschnitt|kapitel|tabelle|mục|điều)[ .:=]{0,3}|[§/][ ]?)\Z"
)

_MONTHS = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|dec(?:ember)?|dez(?:ember)?)"
)
_DATE = (
    r"(?:\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}[./-][ ]?\d{1,2}[./-][ ]?(?:\d{4}|\d{2})"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)?[ ](?:of[ ])?{_MONTHS}\.?,?[ ]\d{{4}}"
    rf"|{_MONTHS}\.?[ ]\d{{1,2}}(?:st|nd|rd|th)?,?[ ]\d{{4}}"
    r"|(?:ngày[ ])?\d{1,2}[ ]tháng[ ]\d{1,2}[ ]năm[ ]\d{4})(?!\d)"
)
_BIRTH_LABEL = (
    r"(?:dates?[ _]of[ _]birth|birth[ _-]?da(?:te|y)|d\.?[ ]?o\.?[ ]?b\.?|born(?:[ ]on)?(?:[ ]the)?"
    r"|geboren(?:[ ]am)?|geb\.?-?dat(?:um)?\.?|geb\.?(?:[ ]am)?|geburts(?:datum|tag)"
    r"|ngày[ ]sinh|sinh[ ]ngày|sinh)"
)
_BIRTH = re.compile(
    rf"(?i)(?<![^\W_]){_BIRTH_LABEL}(?![^\W_])[\"':=,–\s-]{{0,5}}(?:(?:is|was|ist|war|là|am|on)\s)?(?P<date>{_DATE})"
)

_WORD = r"[A-ZÄÖÜ][\w'’.-]{0,30}"
_STREET = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Way|Place|Pl|Square|Sq|Terrace|Close"
    r"|Crescent|Parkway|Pkwy|Highway|Hwy|Row|Mews|Grove)"
)
_FLAT = r"(?:,?[ ](?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|#)\.?[ ]?#?[\w-]{1,6})?"
_LETTERS = r"[A-ZÄÖÜ](?:[^\W\d_]|['’.-]){0,30}"
_TOWN = rf"(?:{_LETTERS}(?:[ ]{_LETTERS}){{0,2}}(?!\w))"
_POST_CODE = r"(?:,[ ][A-Z]{2}(?:[ ]\d{5}(?:-\d{4})?)?|[ ][A-Z]{1,2}\d[A-Z\d]?[ ]\d[A-Z]{2})?"
_ENGLISH = re.compile(
    rf"(?<![\w.,/-])\d{{1,5}}[A-Za-z]?[ ](?:(?:[NSEW]|{_WORD}|\d{{1,3}}(?:st|nd|rd|th))\.?[ ]){{1,4}}?"
    rf"{_STREET}\b\.?{_FLAT}(?:,[ ]{_TOWN}{_POST_CODE})?"
)
_ARTICLES = r"Der|Die|Das|Den|Dem|Des|Ein|Eine|Einem|Einen|Einer|Diese|Dieser|Dieses|Jede|Jeder|Jedes"
_GERMAN_END = (
    r"(?:straße|strasse|str\.|weg|platz|allee|gasse|ring|ufer|damm|chaussee|steig|stieg|pfad|markt|wall)"
)
_GERMAN = re.compile(
    rf"(?<!\w)(?!(?:{_ARTICLES})[ ])(?:[A-ZÄÖÜ][\wäöüß-]{{0,40}}?{_GERMAN_END}"
    rf"|(?:{_WORD}[ -]){{1,2}}(?:Straße|Strasse|Str\.|Weg|Platz|Allee|Gasse|Ring|Ufer|Damm|Chaussee))"
    rf"[ ]\d{{1,4}}(?:-\d{{1,4}})?(?:[ ]?[a-zA-Z])?(?![\w])(?:,?[ ](?:D-)?\d{{5}}[ ]{_TOWN})?"
)
_SMALL_STREET = re.compile(
    rf"(?<!\w)(?:Am|An[ ](?:der|den)|Auf[ ](?:dem|der)|Im|In[ ]der|Zum|Zur|Unter[ ]den|Beim)[ ]"
    rf"(?:{_WORD}[ ]){{1,3}}\d{{1,4}}(?:[ ]?[a-z])?,[ ](?:D-)?\d{{5}}[ ]{_TOWN}"
)
_VN_WORD = r"(?:[A-ZĐÀ-Ỹ][\w]{0,12}|\d{1,2}(?:/\d{1,2})?)"
_VN_NUMBER = r"(?<![\w.,/-])(?:[Ss]ố[ ])?\d{1,4}[A-Za-z]?(?:/\d{1,4}[A-Za-z]?){0,3},?"
_VN_UNIT = (
    r"(?:,[ ](?:phường|xã|quận|huyện|thành phố|tỉnh|Phường|Xã|Quận|Huyện|Thành phố|Tỉnh|TP\.?|P\.|Q\.)"
    rf"(?:[ ]?{_VN_WORD}){{1,4}})"
)
_VN_TOWN = r",[ ](?:Hà Nội|Đà Nẵng|Sài Gòn|Huế|Cần Thơ|Hải Phòng|TP\.?[ ]?HCM)(?!\w)"
# A bare name after a number is a street only if a ward, a district or a town follows.
_VIETNAMESE = re.compile(
    rf"{_VN_NUMBER}[ ](?:(?:[Đđ]ường|[Pp]hố|[Nn]gõ|[Nn]gách|[Hh]ẻm)(?:[ ]{_VN_WORD}){{1,4}}{_VN_UNIT}{{0,4}}"
    rf"|{_VN_WORD}(?:[ ]{_VN_WORD}){{1,3}}(?:{_VN_UNIT}{{1,4}}|(?={_VN_TOWN})))"
    rf"(?:{_VN_TOWN})?"
)


def find_emails(text: str) -> Iterator[Place]:
    """E-mail addresses, in letters of any language, and those spelt with (at)."""
    for found in _DOMAIN.finditer(text):
        local = _LOCAL_PART.search(text, max(0, found.start() - 64), found.start())
        if local and _is_mailbox(local, found, text):
            yield local.end() - len(local[0].lstrip(".'-")), found.end()
    yield from (found.span() for found in _SPELT_OUT.finditer(text))


def _is_mailbox(local: re.Match[str], domain: re.Match[str], text: str) -> bool:
    """False for a picture's name, a repository's address, and the login of a URL, found as such."""
    if not local[0].strip(".'-") or domain["top"].lower() in _FILE_ENDINGS:
        return False
    is_repository = local[0] == "git" and text.startswith(":", domain.end())
    return not is_repository and not _IN_URL_LOGIN.search(text, max(0, local.start() - 220), local.start())


def find_ips(text: str) -> Iterator[Place]:
    """IPv4 and IPv6 addresses that may identify a person: not loopback, masks or versions."""
    for found in _IPV4.finditer(text):
        is_version = _VERSION.search(text, max(0, found.start() - 16), found.start())
        if not is_version and _is_personal(IPv4Address(found[0])):
            yield found.span()
    for found in _IPV6.finditer(text):
        address = _parse_ipv6(found[0])
        if address and _is_personal(address):
            yield found.span()


def _parse_ipv6(text: str) -> IPv6Address | None:
    """None for words like dead::beef and scopes like a::b: without a digit they are not addresses."""
    if text.count(":") < 2 or not re.search(r"\d", text):
        return None
    try:
        return IPv6Address(text)
    except AddressValueError:
        return None


def _is_personal(address: IPv4Address | IPv6Address) -> bool:
    is_mask = address.version == 4 and str(address).startswith("255.")
    return not (address.is_loopback or address.is_unspecified or address.is_multicast or is_mask)


def find_birth_dates(text: str) -> Iterator[Place]:
    """Dates after words such as born, geboren or ngày sinh; a date alone identifies nobody."""
    return (found.span("date") for found in _BIRTH.finditer(text))


def find_addresses(text: str) -> Iterator[Place]:
    """English, German and Vietnamese streets with a number and the town that follows; by far not all."""
    for pattern in (_ENGLISH, _GERMAN, _SMALL_STREET, _VIETNAMESE):
        for found in pattern.finditer(text):
            yield found.start(), found.start() + len(found[0].rstrip("."))
