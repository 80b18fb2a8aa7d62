"""A second server on the same database."""

from tests.api.conftest import other, other_url

__all__ = ["other", "other_url"]
