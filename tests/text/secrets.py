"""Secrets and what looks like one, made from a seed: none of them was ever anybody's."""

import json
import string
from collections.abc import Iterator
from random import Random
from uuid import UUID

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def _of(rng: Random, characters: str, length: int) -> str:
    """Some characters, a letter and a digit among them."""
    made = [rng.choice(characters) for _ in range(length - 2)]
    made += [rng.choice([c for c in characters if c.isalpha()]), rng.choice([c for c in characters if c.isdigit()])]
    rng.shuffle(made)
    return "".join(made)


def _card(rng: Random) -> str:
    digits = [4, *(rng.randrange(10) for _ in range(14))]
    total = sum(d if at % 2 else d * 2 - 9 * (d > 4) for at, d in enumerate(digits))
    digits.append(-total % 10)
    groups = ["".join(map(str, digits[at : at + 4])) for at in range(0, 16, 4)]
    return rng.choice(["", " ", "-"]).join(groups)


def _secret(rng: Random) -> str:
    made = (
        lambda: "AK" + "IA" + _of(rng, string.ascii_uppercase + string.digits, 16),
        lambda: f"gh{rng.choice('pousr')}_{_of(rng, ALNUM, 36)}",
        lambda: f"github_pat_{_of(rng, ALNUM, 40)}",
        lambda: f"glpat-{_of(rng, ALNUM, 20)}",
        lambda: f"xoxb-{_of(rng, ALNUM, 24)}",
        lambda: f"sk_live_{_of(rng, ALNUM, 24)}",
        lambda: f"sk-{rng.choice(['', 'ant-', 'proj-'])}{_of(rng, ALNUM, 40)}",
        lambda: f"hf_{_of(rng, ALNUM, 34)}",
        lambda: f"AIza{_of(rng, ALNUM, 35)}",
        lambda: f"npm_{_of(rng, ALNUM, 36)}",
        lambda: f"eyJ{_of(rng, ALNUM, 20)}.eyJ{_of(rng, ALNUM, 40)}.{_of(rng, ALNUM, 43)}",
        lambda: _card(rng),
    )
    return rng.choice(made)()


def _named(rng: Random) -> tuple[str, str]:
    """A secret that only its name tells, and the text around it."""
    value = _of(rng, ALNUM + "!@#$%", rng.randrange(8, 24)).replace("$", "5")
    said = rng.choice(
        [
            "My password is {}, do not forget it", "password: {}", "DB_PASSWORD={}", "export API_TOKEN={}",
            'client_secret = "{}"', "我的密码是{}，请记住", "密钥：{}", "Authorization: Bearer {}",
            "postgres://me:{}@db.example/app", '{{"api_key": "{}"}}', "the passphrase is {}.",
        ]
    )  # fmt: skip
    if "Bearer" in said or "passphrase" in said or "密" in said or "://" in said:
        value = _of(rng, ALNUM, 20)
    return said.format(value), value


def planted(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Yield texts, each with the secret in it."""
    rng = Random(seed)
    for _ in range(count):
        if rng.random() < 0.4:
            yield _named(rng)
            continue
        secret = _secret(rng)
        frame = rng.choice(
            ["Here it is: {} as you asked.", "{}", "我的密钥在这里：{}，谢谢", "run with --key={} please", "`{}`"]
        )
        text = frame.format(secret)
        yield (json.dumps({"content": text}) if rng.random() < 0.2 else text), secret


def alike(seed: int, count: int) -> Iterator[str]:
    """Yield texts with hashes, ids, UUIDs, numbers and words that are no secrets."""
    rng = Random(seed)
    for _ in range(count):
        some = _of(rng, HEX, rng.choice([7, 32, 40, 64]))
        yield rng.choice(
            [
                f"commit {some}", f"sha256:{_of(rng, HEX, 64)}", f"id {UUID(int=rng.getrandbits(128))}",
                f"call_{_of(rng, ALNUM, 24)}", f"toolu_{_of(rng, ALNUM, 24)}", f'etag "{some}"',
                f"order {rng.randrange(10**9, 10**10)}", "The password is required.", "token: string",
                "max_tokens=128000", "api_key: os.environ", "the secret is to wait", "密码是必填项",
                f"request req_{_of(rng, ALNUM, 20)} took {rng.randrange(9999)} ms", "sk-learn-and-other-words-like-it",
                f"https://example.com/{some}?page=2", "see https://docs.example.com:8080/a@b",
                f"build 2026.{rng.randrange(99)}.{rng.randrange(99)}", f"resp_{_of(rng, HEX, 48)}",
                f"uuid={UUID(int=rng.getrandbits(128))}", "bearer of good news", f"page {rng.randrange(999)}–12",
            ]
        )  # fmt: skip
