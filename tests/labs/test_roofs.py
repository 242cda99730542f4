"""What named cards need at their peaks."""

import pytest

from grader.labs.cards import CARDS, ROOFS, times

BY_NAME = {roof.name: roof for roof in ROOFS}


def test_cards_that_are_compiled_for_have_a_roof_but_the_newest() -> None:
    assert {card.name for card in CARDS.values()} - {*BY_NAME} == {"B200"}


def test_a_copy_is_bound_by_memory() -> None:
    found = times(BY_NAME["H100"], 3_350_000_000, {}, {}, 0)

    assert (found.bound, found.least) == ("memory", pytest.approx(1e-3))


def test_a_large_product_of_bf16_is_bound_by_tensor_cores() -> None:
    size = 8192
    found = times(BY_NAME["A100"], 3 * 2 * size**2, {}, {"bf16": 2 * size**3}, 0)

    assert found.bound == "tensor cores"
    assert found.least == pytest.approx(2 * size**3 / 312e12)


def test_a_product_of_all_bits_of_float32_is_done_outside_of_tensor_cores() -> None:
    found = times(BY_NAME["H100"], 0, {"fp32": 10**12}, {"fp32": 10**12}, 0)

    assert (found.matrix, found.bound) == (0.0, "float32 units")
    assert found.vector == pytest.approx(2 / 66.9)


@pytest.mark.parametrize(("kind", "share"), [("tf32x3", 3 / 494.7), ("bf16x6", 6 / 989.4)])
def test_a_product_in_steps_takes_as_long_as_its_steps(kind: str, share: float) -> None:
    assert times(BY_NAME["H100"], 0, {}, {kind: 10**12}, 0).matrix == pytest.approx(share)


def test_a_card_without_fp8_multiplies_it_as_fp16() -> None:
    of = [times(BY_NAME[name], 0, {}, {"fp8": 10**12}, 0).matrix for name in ("A100", "H100")]

    assert of == [pytest.approx(1 / 312), pytest.approx(1 / 1978.9)]


def test_exponentials_can_be_what_takes_longest() -> None:
    # A head of attention of 4096 by 4096, D = 64: one exponential for 256 FLOPs on tensor cores.
    pairs = 4096 * 4096
    found = times(BY_NAME["H100"], 4 * 4096 * 64 * 2, {}, {"bf16": 4 * 64 * pairs}, 2 * pairs)

    assert found.bound == "special functions"


def test_nothing_takes_no_time() -> None:
    found = times(BY_NAME["H200"], 0, {}, {}, 0)

    assert (found.least, found.bound) == (0.0, "")


def test_newer_cards_of_a_maker_are_no_slower() -> None:
    a100, h100, h200 = (BY_NAME[name] for name in ("A100", "H100", "H200"))

    assert a100.bandwidth < h100.bandwidth < h200.bandwidth
    assert all(h100.matrix[kind] > peak for kind, peak in a100.matrix.items())
    assert h100.matrix == h200.matrix
