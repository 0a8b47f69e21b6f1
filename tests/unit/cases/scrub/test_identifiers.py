"""Each detector by itself: what it finds, to the character, and what it lets pass."""

import pytest

from evalq.cases.scrub import DETECTORS, RANKING
from evalq.cases.scrub.identifiers import is_iban
from evalq.cases.scrub.scrub import find_spans

FOUND = [
    ("email", "to anna.b+x@mail.example, please", "anna.b+x@mail.example"),
    ("email", "(jörg@bäckerei-grün.example)", "jörg@bäckerei-grün.example"),
    ("email", "?user=sam%40mail.example&x=1", "sam%40mail.example"),
    ("email", "...anna@mail.example...", "anna@mail.example"),
    ("email", "a" * 60 + "-----bob@mail.example", "a" * 56 + "-----bob@mail.example"),
    ("phone", "call +49 (0)30 901820 now", "+49 (0)30 901820"),
    ("phone", "+1 415 555 0132 12 items", "+1 415 555 0132"),
    ("phone", "T 030/901820-0.", "030/901820-0"),
    ("phone", "2024-05-21 0912 345 678", "0912 345 678"),
    ("phone", "zalo 0912.345.678", "0912.345.678"),
    ("phone", "(415) 555-0132 x12 works", "(415) 555-0132 x12"),
    ("phone", '{"phone": 4155550132}', "4155550132"),
    ("phone", "phone no. 0912345678", "0912345678"),
    ("phone", "(+84 28 3822 1234)", "+84 28 3822 1234"),
    ("card", "card 4000 0000 0000 1232.", "4000 0000 0000 1232"),
    ("card", "12 4000 0000 0000 1232", "4000 0000 0000 1232"),
    ("card", "40000000 00001232", "40000000 00001232"),
    ("card", "amex 3700 000000 12346", "3700 000000 12346"),
    ("iban", "DE61 5000 0000 0123 4567 89 BIC X", "DE61 5000 0000 0123 4567 89"),
    ("iban", "AB12 or de61500000000123456789", "de61500000000123456789"),
    ("ip", "from 203.0.113.7:8080", "203.0.113.7"),
    ("ip", "[2001:db8::1]", "2001:db8::1"),
    ("ssn", "078-05-1120", "078-05-1120"),
    ("ssn", "SSN: 078051120", "078051120"),
    ("id-number", "passport no. X1234567 expires", "X1234567"),
    ("id-number", "CCCD số 012345678901", "012345678901"),
    ("jwt", "t=eyJhbGciOiJub25lIn0.eyJmYWtlIjoiMDAwMCJ9.x", "eyJhbGciOiJub25lIn0.eyJmYWtlIjoiMDAwMCJ9.x"),
    ("url-login", "postgresql://u:p4ss@db.example/x", "u:p4ss"),
    ("url-login", "https://0123456789abcdef@git.example", "0123456789abcdef"),
    ("auth", "Authorization: Basic ZmFrZTpmYWtl", "ZmFrZTpmYWtl"),
    ("secret", "password=hunter2000;", "hunter2000"),
    ("secret", '"client_secret": "f4ke-0000-f4ke"', "f4ke-0000-f4ke"),
    ("secret", "das Kennwort lautet Sommer!2024.", "Sommer!2024"),
    ("secret", "pin: 4711", "4711"),
    ("birth-date", "geboren am 7. März 1984 in Jena", "7. März 1984"),
    ("birth-date", '"date_of_birth": "1990-05-21"', "1990-05-21"),
    ("address", "an Hauptstraße 5, 12345 Berlin.", "Hauptstraße 5, 12345 Berlin"),
    ("address", "at 350 5th Avenue, New York, NY 10118.", "350 5th Avenue, New York, NY 10118"),
    ("address", "12 đường Lê Lợi, Quận 1", "12 đường Lê Lợi, Quận 1"),
]

LET_PASS = [
    *("2024-05-21 14:30:05", "21.05.2024 – 03.06.2024", "05/21/2024", "1716301805123", "12:30:45"),
    *("v1.2.3.4", "build 120.0.6099.109", "127.0.0.1", "255.255.255.0", "std::vector", "a::b"),
    *("Order no. 0912345678", "Bestellung 030-1234567-89", "mã số 024-3825-1234", "SN#415-555-0132"),
    *("1.234.567,89 €", "12.450.000 đồng", "+15 %", "+10000000 points", "100-200-3000"),
    *("4000 0000 0000 1233", "4111111111111112", "DE61 5000 0000 0123 4567 88", "0000000000000000"),
    *("000-12-3456", "666-12-3456", "123 45 6789", "12345-6789", "passport control took 45 minutes"),
    *("lodash@4.17.21", "logo@2x.png", "@anna", "git@host.example:a/b.git", "a@b"),
    *(
        "password: ${DB_PASSWORD}",
        "api_key = os.environ['KEY']",
        "password: ********",
        "password is required",
    ),
    *("max_tokens=1048576", "token: <your-token>", "secret: [secret-1]", "the bearer certificates"),
    *("born in 1990", "on 21 May 1990", "Die Straße 5", "the 5 Star Hotel", "Platz 3 in der Tabelle"),
    *("sk-learn-contrib-and-many-other-words", "-----BEGIN CERTIFICATE-----", "http://host.example/x@y"),
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "550e8400-e29b-41d4-a716-446655440000",
    *(
        "passport no. X1234",
        "Ausweis Nr. 12 ist weg",
        "00123456789012",
        "id 0049 30 901820",
        "XX61 5000 0000 0123",
    ),
    *("tel. 2024-05-21", "call 21.05.2024"),
]

# Joined here, so that no scanner takes an invented key for a live one.
KEYS = {
    "sk-ant-": "api03-FAKE0000FAKE0000",
    "sk-proj-": "FAKE0000FAKE0000FAKE0000",
    "xai-": "FAKE0000FAKE0000FAKE0000",
    "AIza": "FAKE0000FAKE0000FAKE0000FAKE0000FAK",
    "AKIA": "FAKE0000FAKE0000",
    "ghp_": "FAKE0000FAKE0000FAKE0000FAKE0000FAKE",
    "github_pat_": "FAKE0000FAKE0000FAKE0000",
    "glpat-": "FAKE0000FAKE0000FAKE",
    "xoxb-": "000000000000-FAKE0000",
    "sk_live_": "FAKE0000FAKE0000",
    "SG.": "FAKE0000FAKE0000.FAKE0000FAKE0000",
    "hf_": "FAKE0000FAKE0000FAKE0000FAKE0000",
    "npm_": "FAKE0000FAKE0000FAKE0000FAKE0000FAKE",
    "pypi-": "FAKE0000FAKE0000FAKE0000FAKE0000",
    "gsk_": "FAKE0000FAKE0000FAKE0000",
    "AccountKey=": "FAKE0000" * 8 + "==",
}


@pytest.mark.parametrize(("kind", "text", "value"), FOUND, ids=[text[:30] for _, text, _ in FOUND])
def test_a_value_is_found_to_the_character(kind: str, text: str, value: str) -> None:
    assert [(span.kind, text[span.start : span.end]) for span in find_spans(text)] == [(kind, value)]


@pytest.mark.parametrize("text", LET_PASS)
def test_what_only_looks_like_it_is_left(text: str) -> None:
    assert [(span.kind, text[span.start : span.end]) for span in find_spans(text)] == []


@pytest.mark.parametrize(("mark", "body"), KEYS.items(), ids=list(KEYS))
def test_a_key_is_found_by_its_makers_mark(mark: str, body: str) -> None:
    (span,) = find_spans(f"the key {mark}{body}, rotated")
    assert span.kind == "key"
    assert body in f"the key {mark}{body}, rotated"[span.start : span.end]


def test_a_private_key_goes_as_a_whole_block() -> None:
    block = "-----BEGIN " + "EC PRIVATE KEY-----\nFAKE0000FAKE0000\n-----END EC PRIVATE KEY-----"
    text = f"see {block} here"
    assert [(span.kind, text[span.start : span.end]) for span in find_spans(text)] == [("private-key", block)]


def test_a_private_key_cut_off_goes_as_far_as_it_is_there() -> None:
    begin = "-----BEGIN " + "PRIVATE KEY-----"
    text = f"{begin}\nFAKE0000FAKE0000\nFAKE0000FAKE0000\nand then words"
    (span,) = find_spans(text)
    assert text[span.end :] == "\nand then words"


def test_an_iban_has_its_countrys_length_and_the_right_check_digits() -> None:
    assert is_iban("DE61500000000123456789")
    assert not is_iban("DE62500000000123456789")
    assert not is_iban("DE6150000000012345678")
    assert not is_iban("XX61500000000123456789")


def test_every_kind_has_its_detector_and_names_are_the_models() -> None:
    assert set(RANKING) - set(DETECTORS) == {"name"}
    assert {kind for kind, _, _ in FOUND} | {"key", "private-key"} == set(DETECTORS)
