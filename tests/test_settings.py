"""Settings that are misspelt or not valid, and what is said of them."""

import pytest

from app.doctor import checks
from app.settings import InvalidSettingsError, Settings, misspelt, read


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("QUIRE_PROT", "QUIRE_PORT"), ("MEMORY_LLM_MODLE", "MEMORY_LLM_MODEL"), ("quire_log_levl", "QUIRE_LOG_LEVEL")],
)
def test_a_misspelt_setting_is_found_with_the_nearest_one(name: str, nearest: str) -> None:
    assert misspelt([name, "PATH"]) == {name.upper(): nearest}
    check = checks.settings(misspelt([name]))
    assert check.state == "warn"
    assert name.upper() in check.detail
    assert nearest in check.fix


def test_settings_and_variables_of_others_are_not_misspelt() -> None:
    others = ("QUIRE_API_KEY", "QUIRE_KEY", "QUIRE_URL", "QUIRE_APP_PASSWORD", "QUIRE_OWNER_PASSWORD", "QUIRE_LONG")
    of_clusters = ("QUIRE_SERVICE_HOST", "QUIRE_SERVICE_PORT_HTTP", "QUIRE_PORT_80_TCP", "QUIRE_PORT_80_TCP_ADDR")
    of_compose = ("QUIRE_PUBLISHED_PORT", "QUIRE_VERSION", "POSTGRES_PASSWORD", "MEMORY")
    assert misspelt([*Settings.model_fields, *others, *of_clusters, *of_compose]) == {}
    assert checks.settings({}).state == "ok"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("quire_proxy_prices", '{"a": 1}', "QUIRE_PROXY_PRICES: the price of 'a' must have `input` and `output`"),
        ("quire_cors_origins", "app.example", "QUIRE_CORS_ORIGINS: 'app.example' is not an origin"),
        ("database_url", "postgresql+asyncpg://h/q", "DATABASE_URL: write it as postgresql://"),
        ("migration_database_url", "mysql://h/q", "MIGRATION_DATABASE_URL: write it as postgresql://"),
        ("memory_llm_base_url", "localhost:1234/v1", "MEMORY_LLM_BASE_URL: the base URL of a provider begins"),
        ("quire_proxy_base_url", "https://me:secret@h/v1", "QUIRE_PROXY_BASE_URL: the base URL of a provider has"),
        ("quire_proxy_upstreams", '{"a-*": {"base_url": "h"}}', "QUIRE_PROXY_UPSTREAMS: the base URL of a"),
    ],
)
def test_a_bad_value_is_refused_by_the_settings_name(name: str, value: str, said: str) -> None:
    with pytest.raises(InvalidSettingsError, match=said):
        read(**{name: value})
