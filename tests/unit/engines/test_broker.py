import pytest

from evalq.engines.broker import celery_url, make_app


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("rediss://host:6379/0", "rediss://host:6379/0"),
        ("valkey://:secret@host:6379/1", "redis://:secret@host:6379/1"),
        ("valkeys://host:6379/0", "rediss://host:6379/0"),
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock"),
        ("unix:///run/valkey.sock?db=2", "redis+socket:///run/valkey.sock?virtual_host=2"),
        ("", ""),
    ],
)
def test_celery_gets_a_scheme_it_knows(given: str, expected: str) -> None:
    assert celery_url(given) == expected


@pytest.mark.parametrize("url", ["valkey://host:6379/1", "valkeys://host:6379/1?ssl_cert_reqs=CERT_REQUIRED"])
def test_a_valkey_url_reaches_broker_and_backend(url: str) -> None:
    app = make_app(url)
    with app.connection_for_write() as connection:
        assert connection.transport.driver_type == "redis"
    assert app.backend.connparams["host"] == "host"
    assert app.backend.connparams["db"] == 1


def test_a_unix_socket_reaches_broker_and_backend() -> None:
    app = make_app("unix:///run/valkey.sock?db=2")
    with app.connection_for_write() as connection:
        assert connection.transport.driver_type == "redis"
    assert app.backend.connparams["path"] == "/run/valkey.sock"
    assert app.backend.connparams["db"] == 2
