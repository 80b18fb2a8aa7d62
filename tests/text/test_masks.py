"""Secrets are masked wherever they stand, what only looks like one is left alone."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.edge.credentials import prefix
from app.text.masks import Masks, masked_kinds
from tests.text.secrets import alike, planted

SECRETS = Masks(["secrets"])
ALL = Masks(masked_kinds("all"))


def test_five_hundred_planted_secrets_are_gone() -> None:
    left = [text for text, secret in planted(7, 500) if secret in SECRETS.text(text)]
    assert left == []


def test_five_hundred_look_alikes_stay() -> None:
    changed = [(text, SECRETS.text(text)) for text in alike(8, 500) if SECRETS.text(text) != text]
    assert changed == []


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("mail bob@example.com", "mail [masked email]"),
        ("call +49 30 12345678", "call [masked phone]"),
        ("手机 138 0013 8000", "手机 [masked phone]"),
        ("身份证 110101199003078531", "身份证 [masked identity number]"),
        ("身份证 110101199003078530", "身份证 110101199003078530"),
        ("DE89 3704 0044 0532 0130 00", "[masked iban]"),
        ("2026-11-26 07:58:37", "2026-11-26 07:58:37"),
    ],
)
def test_personal_data(text: str, masked: str) -> None:
    assert ALL.text(text) == masked
    assert SECRETS.text(text) == text
    assert Masks().text(text) == text


def test_a_private_key_is_masked_as_a_whole_even_if_it_is_cut() -> None:
    begin = "-----BEGIN " + "EC PRIVATE KEY-----"
    assert SECRETS.text(f"use {begin}\nMHcC\n-----END EC PRIVATE KEY----- now") == "use [masked private key] now"
    assert SECRETS.text(f"use {begin}\nMHcC") == "use [masked private key]"


def test_a_key_of_our_own_is_masked() -> None:
    assert (
        SECRETS.text(f"use {prefix(UUID(int=1), UUID(int=2))}_{'aB3' * 10} here") == "use [masked service token] here"
    )


def test_members_that_are_called_a_secret() -> None:
    value = {"password": "hunter22", "list": [{"auth_token": "x1y2z3w4"}], "secret": True, "token": "string", "n": 1}
    assert SECRETS.value(value) == {
        "password": "[masked secret]", "list": [{"auth_token": "[masked secret]"}], "secret": True, "token": "string",
        "n": 1,
    }  # fmt: skip
    plain = {"content": ["hello"]}
    assert SECRETS.value(plain) is plain


@given(st.text(max_size=300))
def test_what_is_masked_is_masked_once(text: str) -> None:
    once = ALL.text(text)
    assert ALL.text(once) == once


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=40), st.lists))
def test_a_json_text_stays_json(value: Any) -> None:
    text = json.dumps({"password": value, "api_key": "zz91kdk2l3kd"})
    assert json.loads(SECRETS.text(text)).keys() == {"password", "api_key"}
