"""The rows of every table are counted as the tests of the API do it."""

from tests.api.conftest import rows

__all__ = ["rows"]
