"""Scrubbing: finds personal data and secrets in texts and replaces them by stand-ins; never complete."""

from evalq.cases.scrub.contacts import find_addresses, find_birth_dates, find_emails, find_ips
from evalq.cases.scrub.credentials import (
    find_assigned_secrets,
    find_auth_headers,
    find_jwts,
    find_keys,
    find_private_keys,
    find_url_logins,
)
from evalq.cases.scrub.identifiers import find_cards, find_ibans, find_id_numbers, find_phones, find_ssns
from evalq.cases.scrub.span import Find, Kind

DETECTORS: dict[Kind, Find] = {
    "private-key": find_private_keys,
    "url-login": find_url_logins,
    "jwt": find_jwts,
    "key": find_keys,
    "auth": find_auth_headers,
    "secret": find_assigned_secrets,
    "iban": find_ibans,
    "card": find_cards,
    "ssn": find_ssns,
    "id-number": find_id_numbers,
    "email": find_emails,
    "phone": find_phones,
    "ip": find_ips,
    "birth-date": find_birth_dates,
    "address": find_addresses,
}
"""Where two detectors find the same characters, the first one listed decides the kind."""

RANKING: tuple[Kind, ...] = (*DETECTORS, "name")
