"""Compiled kernels as data: what a worker may tell of them, and what fits onto a card."""

import pytest

from grader.labs.cards import CARDS, Occupancy, occupancy
from grader.labs.compiled import Compiled

FACTS = {"line": 3, "registers": 40, "spills": 0, "shared": 16, "warps": 4, "stages": 3}


@pytest.mark.parametrize(
    ("target", "registers", "shared", "warps", "expected"),
    [
        ("sm_80", 32, 0, 4, Occupancy(16, 64, "warps")),
        ("sm_80", 255, 0, 8, Occupancy(1, 8, "registers")),
        ("sm_80", 32, 80 << 10, 4, Occupancy(2, 8, "shared memory")),
        ("sm_90", 32, 80 << 10, 4, Occupancy(2, 8, "shared memory")),
        ("sm_90", 32, 228 << 10, 4, Occupancy(0, 0, "shared memory")),
        ("sm_90", 16, 0, 1, Occupancy(32, 32, "blocks")),
        ("gfx942", 128, 0, 4, Occupancy(4, 16, "registers")),
        ("gfx942", 64, 40 << 10, 4, Occupancy(1, 4, "shared memory")),
    ],
)
def test_what_fits_is_limited_by_the_scarcest(
    target: str, registers: int, shared: int, warps: int, expected: Occupancy
) -> None:
    assert occupancy(CARDS[target], registers, shared, warps) == expected


def test_figures_of_a_worker_are_taken_in() -> None:
    got = Compiled.of("k", "sm_90", {**FACTS, "loads": {"16": 2}, "matrix": ["mma.sync", "x"]})

    assert (got.line, got.registers, got.loads, got.matrix) == (3, 40, {16: 2}, ("mma.sync",))


@pytest.mark.parametrize(
    "told",
    [
        *(None, [], {}, {**FACTS, "registers": -1}, {**FACTS, "loads": {"a": 1}}),
        *({**FACTS, "loads": [1]}, {**FACTS, "loads": {"1": []}}, {**FACTS, "matrix": 5}),
    ],
)
def test_what_has_not_the_form_is_refused(told: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        Compiled.of("k", "sm_90", told)


def test_block_for_which_no_card_has_room_is_said_to_be() -> None:
    assert Compiled("k", 3, "sm_90", shared=227 << 10).excess == ""
    got = Compiled("k", 3, "sm_80", shared=300 << 10).excess
    assert got.startswith("a block needs 300 KiB of shared memory; the most that a card has is 227")


def test_what_could_not_be_looked_at_is_told_from_an_error() -> None:
    told = {"line": 3, "error": "made late"}

    assert not Compiled.of("k", "sm_90", told).missing
    assert Compiled.of("k", "sm_90", {**told, "missing": True}).missing
