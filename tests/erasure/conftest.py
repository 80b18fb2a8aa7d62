"""What the tests of erasing look with."""

from tests.archive.conftest import large, large_url, rows, tables_with

__all__ = ["large", "large_url", "rows", "tables_with"]
