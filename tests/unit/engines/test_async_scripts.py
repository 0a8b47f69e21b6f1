import pytest

from evalq.engines.async_scripts import redis_url


@pytest.mark.parametrize(
    ("broker_url", "expected"),
    [
        ("redis://h:1/0", "redis://h:1/0"),
        ("valkey://:pw@h:1/2", "redis://:pw@h:1/2"),
        ("valkeys://h:1/0", "rediss://h:1/0"),
        ("unix:///run/v.sock?db=3", "unix:///run/v.sock?db=3"),
        ("rediss://h/0?ssl_cert_reqs=CERT_REQUIRED", "rediss://h/0?ssl_cert_reqs=required"),
        ("rediss://h/0?ssl_cert_reqs=none", "rediss://h/0?ssl_cert_reqs=none"),
    ],
)
def test_a_brokers_url_is_put_as_redis_py_knows_it(broker_url: str, expected: str) -> None:
    assert redis_url(broker_url) == expected
