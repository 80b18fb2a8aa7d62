"""A second server, and connections past row-level security."""

from tests.api.conftest import other, other_url
from tests.guards.conftest import superuser

__all__ = ["other", "other_url", "superuser"]
