"""Whose fault refusals are."""

import pytest

from app.jobs.policy import REFUSED_MIN, refuses_most


@pytest.mark.parametrize(
    ("refused", "taken", "takes_harmless", "faulty"),
    [
        (0, 0, True, False),
        (0, 20, True, False),
        (1, 0, True, False),
        (1, 19, True, False),
        (REFUSED_MIN - 1, 0, True, False),
        (REFUSED_MIN, 0, True, True),
        (REFUSED_MIN, REFUSED_MIN, True, False),
        (REFUSED_MIN + 1, REFUSED_MIN, True, True),
        (1, 0, False, True),
        (20, 0, False, True),
    ],
)
def test_few_refusals_are_the_inputs_fault_and_most_are_the_providers(
    refused: int, taken: int, takes_harmless: bool, faulty: bool
) -> None:
    assert refuses_most(refused, taken, takes_harmless=takes_harmless) is faulty
