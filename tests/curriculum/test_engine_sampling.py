"""The engine's draws: filters beside lab 03's oracle, and texts counted beside their exact law."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reference.engine.engine import Engine, Setting
from reference.engine.requests import Request
from reference.engine.sampling import Sampling, certain, settle
from reference.llama import logits
from reference.models.checkpoint import Model, random_model
from reference.sampling import (
    chi_square_p,
    keep,
    kept_by_min_p,
    kept_by_top_k,
    kept_by_top_p,
    probabilities,
)
from reference.speculative import outcomes

LEAST = 20  # expected counts of a cell: rarer texts are counted together
SOURCE = torch.Generator().manual_seed(11)


def normal(*shape: int, scale: float = 1.0, shift: float = 0.0) -> Tensor:
    return torch.randn(*shape, generator=SOURCE) * scale + shift


TINY = random_model(normal, vocab_size=3, num_layers=1)
OTHER = random_model(normal, vocab_size=3, num_layers=1)
PROMPT, COUNT = [2, 0, 1], 3


def slow_law(row: Sequence[float], sampling: Sampling) -> list[float]:
    """The law by the oracle of lab 03, filter after filter."""
    grid = torch.tensor([row], dtype=torch.float64) / sampling.temperature
    filters = (
        (kept_by_top_k, sampling.top_k),
        (kept_by_top_p, sampling.top_p),
        (kept_by_min_p, sampling.min_p),
    )
    for kept, value in filters:
        if value is not None:
            grid = keep(grid, [kept(grid[0].tolist(), value)])  # type: ignore[operator]
    return probabilities(grid[0].tolist())


def fit(counts: Mapping[tuple[int, ...], int], law: Mapping[tuple[int, ...], float]) -> float:
    """How probable counts as far off are; what is expected less than LEAST times is one cell."""
    total = sum(counts.values())
    often = [text for text, chance in law.items() if total * chance >= LEAST]
    rare = 1 - math.fsum(law[text] for text in often)
    cells = [counts.get(text, 0) for text in often]
    assert set(counts) <= {text for text, chance in law.items() if chance > 0}
    return chi_square_p([*cells, total - sum(cells)], [*(law[text] for text in often), rare])


@given(
    st.lists(st.integers(-40, 40), min_size=2, max_size=9),
    st.sampled_from([0.3, 1.0, 2.5]),
    st.none() | st.integers(1, 12),
    st.none() | st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    st.none() | st.sampled_from([0.0, 0.05, 0.5, 1.0]),
)
@settings(deadline=None, max_examples=200)
def test_filters_are_those_of_lab_03(
    row: list[int], temperature: float, top_k: int | None, top_p: float | None, min_p: float | None
) -> None:
    sampling = Sampling(temperature, top_k, top_p, min_p)
    values = [x / 7 for x in row]

    law = sampling.law(torch.tensor(values, dtype=torch.float64))

    assert law.tolist() == pytest.approx(slow_law(values, sampling), abs=1e-12)


def test_without_a_temperature_the_first_of_the_best_is_sure() -> None:
    assert Sampling().law(torch.tensor([0.0, 3.0, -1.0, 3.0])).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("sure", [False, True], ids=["drawn", "looked up"])
def test_guesses_are_settled_by_the_exact_law(sure: bool) -> None:
    p = torch.rand(3, 4, generator=SOURCE, dtype=torch.float64).pow(3)
    p /= p.sum(-1, keepdim=True)
    guesses = [2, 1]
    q = torch.rand(2, 4, generator=SOURCE, dtype=torch.float64) + 0.2
    q /= q.sum(-1, keepdim=True)
    if sure:
        q = torch.stack([certain(token, 4) for token in guesses])
    chance = torch.Generator().manual_seed(3)

    counts = Counter(tuple(settle(guesses, [*q], [*p], chance)) for _ in range(8000))

    assert fit(counts, outcomes(guesses, q.tolist(), p.tolist())) > 1e-6


class Table:
    """A runner whose logits are looked up by all that its cache holds, and not computed again."""

    num_bytes = 0

    def __init__(self, model: Model) -> None:
        self._model = model
        self._held: dict[int, list[int]] = {}
        self._rows: dict[tuple[int, ...], Tensor] = {}

    def row(self, text: Sequence[int]) -> Tensor:  # float64 [V]
        key = tuple(text)
        if key not in self._rows:
            self._rows[key] = logits(*self._model.exact, torch.tensor([key]))[0, -1]
        return self._rows[key]

    def prefill(self, tokens: list[int], slot: int, start: int = 0) -> Tensor:
        return self.extend(torch.tensor(tokens[start:]), start, slot)[-1]

    def step(self, tokens: list[int], positions: list[int], slots: list[int]) -> Tensor:
        each = zip(tokens, positions, slots, strict=True)
        return torch.cat([self.extend(torch.tensor([token]), *at) for token, *at in each])

    def extend(self, tokens: Tensor, position: int, slot: int) -> Tensor:
        held = self._held.setdefault(slot, [])
        assert position <= len(held)
        held[position:] = tokens.tolist()
        return torch.stack([self.row(held[: i + 1]) for i in range(position, len(held))])


class Tables(Setting):
    """A setting whose passes are looked up."""

    def runner(self, model: Model, bits: int | None) -> Table:  # type: ignore[override]
        return TABLES[id(model)]


TABLES = {id(model): Table(model) for model in (TINY, OTHER)}


def texts(model: Model, sampling: Sampling) -> dict[tuple[int, ...], float]:
    """The chance of every text of COUNT tokens, by enumeration in float64."""
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(COUNT):
        longer: dict[tuple[int, ...], float] = {}
        for text, reached in law.items():
            row = TABLES[id(model)].row([*PROMPT, *text]).tolist()
            for token, chance in enumerate(slow_law(row, sampling)):
                longer[(*text, token)] = reached * chance
        law = longer
    return law


@pytest.mark.parametrize("sampling", [Sampling(2.0), Sampling(3.0, top_p=0.9)], ids=["hot", "cut"])
@pytest.mark.parametrize("guesses", [0, 2])
@pytest.mark.parametrize("draft", [OTHER, None], ids=["draft", "lookup"])
def test_texts_come_as_often_as_their_law_says(
    sampling: Sampling, guesses: int, draft: Model | None
) -> None:
    served = Engine(TINY, Tables(slots=1, max_len=8), guesses, draft if guesses else None)
    found: Counter[tuple[int, ...]] = Counter()

    for seed in range(3000):
        drawn = Sampling(sampling.temperature, sampling.top_k, sampling.top_p, None, seed)
        output = served.generate([Request(PROMPT, COUNT, (), drawn)])[0]
        found[tuple(output.tokens)] += 1

    assert fit(found, texts(TINY, sampling)) > 1e-6
    assert (served.rounds.accepted > 0) == (guesses > 0)
    assert served.rounds.accepted < max(1, served.rounds.guessed)  # some are rejected too
