"""The filters of lab 03's oracle against transformers; its judge of draws against closed forms."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from reference import sampling as oracle

ROW = [0.0, 2.0, 1.0, 2.0, -1.0]  # the handout's
NO_IDS = torch.zeros(6, 1, dtype=torch.int64)  # most of transformers' filters look at logits only


def random_logits(seed: int, rows: int = 6, vocab: int = 17) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, vocab, generator=generator, dtype=torch.float64) * 2


def kept(rule, logits: Tensor, number: float) -> Tensor:
    return oracle.keep(logits, [rule(row, number) for row in logits.tolist()])


# --- filters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 9, 16, 17])
def test_top_k_is_that_of_transformers(k):
    logits = random_logits(k)

    assert torch.equal(kept(oracle.kept_by_top_k, logits, k), TopKLogitsWarper(k)(NO_IDS, logits))


@pytest.mark.parametrize("p", [0.011, 0.137, 0.5003, 0.7919, 0.951, 0.9999])
def test_top_p_is_that_of_transformers(p):
    for seed in range(20):
        logits = random_logits(seed)

        want = TopPLogitsWarper(p)(NO_IDS, logits)

        assert torch.equal(kept(oracle.kept_by_top_p, logits, p), want)


@pytest.mark.parametrize("p", [0.0, 0.013, 0.2, 0.503, 0.97, 1.0])
def test_min_p_is_that_of_transformers(p):
    for seed in range(20):
        logits = random_logits(seed)

        want = MinPLogitsWarper(p)(NO_IDS, logits)

        assert torch.equal(kept(oracle.kept_by_min_p, logits, p), want)


@pytest.mark.parametrize("penalty", [0.6, 1.0, 1.3, 2.0])
def test_repetition_penalty_is_that_of_transformers(penalty):
    history = torch.tensor([[3, 3, 16], [0, 1, 2], [5, 5, 5], [9, 0, 9], [16, 15, 0], [7, 8, 7]])
    logits = random_logits(3)

    want = RepetitionPenaltyLogitsProcessor(penalty)(history, logits.clone())

    torch.testing.assert_close(
        oracle.repetition_penalty(logits, history.tolist(), penalty), want, rtol=1e-14, atol=0
    )


def test_filters_after_filters_are_those_of_transformers():
    for seed in range(20):
        logits = random_logits(seed)

        ours = kept(oracle.kept_by_top_k, logits, 9)
        ours = kept(oracle.kept_by_top_p, ours, 0.8317)
        ours = kept(oracle.kept_by_min_p, ours, 0.0711)

        theirs = logits
        for each in (TopKLogitsWarper(9), TopPLogitsWarper(0.8317), MinPLogitsWarper(0.0711)):
            theirs = each(NO_IDS, theirs)
        assert torch.equal(ours, theirs)


def test_what_the_handout_says_of_ties():
    assert oracle.kept_by_top_k(ROW, 2) == {1, 3}
    assert oracle.kept_by_top_k(ROW, 1) == {1}
    assert oracle.kept_by_top_p(ROW, 0.7) == {1, 3}
    assert oracle.kept_by_top_p(ROW, 0.3) == {1}
    assert oracle.kept_by_min_p(ROW, 0.3) == {1, 2, 3}
    assert oracle.kept_by_min_p(ROW, 1.0) == {1, 3}


def test_p_of_one_keeps_even_what_float64_cannot_see():
    assert oracle.kept_by_top_p([0.0, -900.0, 3.0], 1.0) == {0, 1, 2}


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9), st.floats(0.001, 0.999))
@settings(deadline=None)
def test_top_p_is_the_smallest_set_that_holds_p(numbers, p):
    row = [number / 2 for number in numbers]
    chances = oracle.probabilities(row)
    chosen = oracle.kept_by_top_p(row, p)

    best = sorted(chances, reverse=True)
    assert math.fsum(chances[token] for token in chosen) >= p - 1e-12
    assert math.fsum(best[: len(chosen) - 1]) < p + 1e-12


def test_probabilities_and_masses_are_torchs():
    logits = random_logits(11) + 400

    chances = torch.tensor([oracle.probabilities(row) for row in logits.tolist()])
    masses = torch.tensor([oracle.masses(row) for row in logits.tolist()])
    shares = torch.tensor([oracle.shares(row) for row in logits.tolist()])

    want = logits.softmax(-1).float()
    torch.testing.assert_close(chances, want)
    torch.testing.assert_close(masses, want.sort(-1, descending=True).values.cumsum(-1))
    torch.testing.assert_close(shares, want / want.amax(-1, keepdim=True))


# --- draws -----------------------------------------------------------------------------------


def test_chi_square_has_its_closed_forms():
    # Two cells, one degree of freedom: erfc; three cells, two degrees: an exponential.
    two = (60 - 50) ** 2 / 50 * 2
    three = ((45 - 30) ** 2 + (25 - 30) ** 2 + (20 - 30) ** 2) / 30

    assert oracle.chi_square_p([60, 40], [0.5, 0.5]) == pytest.approx(math.erfc((two / 2) ** 0.5))
    assert oracle.chi_square_p([45, 25, 20], [1 / 3] * 3) == pytest.approx(math.exp(-three / 2))


def test_counting_the_impossible_is_out_of_the_question():
    assert oracle.chi_square_p([99, 1], [1.0, 0.0]) == 0.0
    assert oracle.chi_square_p([100, 0], [1.0, 0.0]) == 1.0


def test_p_is_uniform_under_the_law_and_tiny_beside_it():
    chances = [0.4, 0.3, 0.2, 0.1]
    generator = torch.Generator().manual_seed(5)
    law = torch.tensor(chances).expand(400, 4)
    counts = [row.bincount(minlength=4) for row in law.multinomial(900, True, generator=generator)]

    found = torch.tensor([oracle.chi_square_p(row.tolist(), chances) for row in counts])

    # Kolmogorov's distance of 400 uniform numbers is below 0.1 in all but 7 of 10,000 cases.
    ideal = (torch.arange(400) + 0.5) / 400
    assert float((found.sort().values - ideal).abs().max()) < 0.1
    assert all(oracle.chi_square_p(row.tolist(), [0.25] * 4) < 1e-6 for row in counts)


def test_furthest_is_what_adds_most_to_the_statistic() -> None:
    assert oracle.furthest([50, 30, 20], [0.5, 0.4, 0.1]) == 2
    assert oracle.furthest([99, 1], [1.0, 0.0]) == 1
    assert oracle.furthest([540, 459, 1], [0.5, 0.499999, 1e-6], floor=1.0) == 1
