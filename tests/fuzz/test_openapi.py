"""What the OpenAPI document says is what is served, whatever is sent: Schemathesis with every check, and its links."""

from collections.abc import Iterator

import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.conftest import serving
from tests.fuzz.run import fuzz
from tests.keys.conftest import mint
from tests.keys.kit import Mint

__all__ = ["mint"]

BOUNDED = ("--seed", "1", "--max-examples", "8", "--generation-deterministic")


@pytest.fixture
def url(postgres: EmbeddedPostgres, settings: Settings, clean: None) -> Iterator[str]:
    yield from serving(build_app(settings.model_copy(update={"quire_require_keys": True}), postgres.app_dsn))


@pytest.mark.parametrize("phases", ["examples,coverage", "fuzzing", "stateful"])
def test_every_answer_is_as_the_document_says(url: str, mint: Mint, phases: str) -> None:
    found = fuzz(url, mint(), "--phases", phases, *BOUNDED)
    assert found.returncode == 0, found.stdout + found.stderr
