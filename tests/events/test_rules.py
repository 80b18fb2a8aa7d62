"""The rules of webhooks: where they may go, how they are signed, and when they are sent again."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.edge.addresses import is_public, url_problem
from app.core.edge.webhooks import EVENT_TYPES, PROBE_SECONDS, RETRY_SECONDS, retry_seconds, signature, wants

PRIVATE = (
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "::127.0.0.1", "localhost", "",
)  # fmt: skip
PUBLIC = ("8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808")


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_are_not_of_the_internet_are_refused(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_internet_are_allowed(address: str) -> None:
    assert is_public(address)


@given(st.integers(0, 2**32 - 1))
def test_an_address_in_another_form_is_judged_alike(number: int) -> None:
    plain = IPv4Address(number)
    for form in (int(IPv6Address("::ffff:0:0")) + number, int(IPv6Address("64:ff9b::")) + number):
        assert is_public(str(IPv6Address(form))) == is_public(str(plain))


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://example.com/quire?x=1", None),
        ("http://[2606:4700:4700::1111]:8080/", None),
        ("ftp://example.com/", "http"),
        ("example.com", "http"),
        ("https://", "host"),
        ("https://a:b@example.com/", "user or password"),
        ("https://example.com/#part", "fragment"),
        ("https://example.com:99999/", "URL"),
        ("https://example.com/ü", "ASCII"),
        ("https://example.com/\r\nX: y", "ASCII"),
    ],
)
def test_a_url_is_judged_by_its_form(url: str, problem: str | None) -> None:
    found = url_problem(url)
    assert (found is None) == (problem is None)
    assert problem is None or problem in (found or "")


@given(st.text())
def test_any_text_has_a_verdict(text: str) -> None:
    assert url_problem(text) is None or url_problem(text)


def test_a_signature_is_that_of_the_standards_example() -> None:
    secret, id_ = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    signed = signature(secret, id_, 1614265330, '{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.lists(st.sampled_from(EVENT_TYPES)), st.sampled_from(EVENT_TYPES))
def test_a_webhook_takes_what_it_names_or_everything(types: list[str], type_: str) -> None:
    assert wants(types, type_) == (type_ in types or not types)


def test_a_receiver_that_fails_is_probed_once_a_minute() -> None:
    waits = [retry_seconds(attempt) for attempt in range(1, len(RETRY_SECONDS) + 3)]
    assert waits == [*sorted(RETRY_SECONDS), PROBE_SECONDS, PROBE_SECONDS]
