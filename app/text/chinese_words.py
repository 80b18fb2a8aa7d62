"""Chinese words, by rjieba's dictionary."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def dictionary() -> Any:
    """Return the package. The first Chinese text loads it: it takes 33 MB, and as long as a twelfth of a start."""
    import rjieba

    return rjieba
