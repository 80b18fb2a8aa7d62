"""The page of settings is the one that app/settings.py makes."""

import pytest

from app.settings import Settings
from docs.make_settings import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run `python docs/make_settings.py`"


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_described(name: str) -> None:
    assert Settings.model_fields[name].description
    assert f"| `{name.upper()}` | " in PAGE.read_text()
