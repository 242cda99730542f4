"""Lab 03's beam search against exhaustion and against transformers; its models and puzzles."""

import math
import random
from itertools import pairwise, product

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from reference.scripted.beams import (
    MARGIN,
    HistoryModel,
    Puzzle,
    beam_search,
    clear_puzzle,
    exhaustive,
    log_probabilities,
)

TABLE = {  # the handout's model
    (): [0.2, 0.5, 0.3],
    (1,): [0.3, 0.36, 0.34],
    (2,): [0.9, 0.06, 0.04],
    (1, 1): [0.2, 0.7, 0.1],
}


def spoken(history):
    return [math.log(chance) for chance in TABLE[tuple(history[1:])]]


# --- searches --------------------------------------------------------------------------------


def test_example_of_the_handout():
    found = beam_search(spoken, [1], 2, 3, 0)
    longer = beam_search(spoken, [1], 2, 3, 0, length_penalty=2.0)

    assert [tokens for tokens, _ in found.beams] == [[2, 0], [1, 1, 1]]
    assert [score for _, score in found.beams] == pytest.approx(
        [math.log(0.27) / 2, math.log(0.126) / 3]
    )
    assert [tokens for tokens, _ in longer.beams] == [[1, 1, 1], [2, 0]]


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 2.0, -0.7])
def test_wide_beams_are_exhaustive(length_penalty):
    for seed in range(10):
        model = HistoryModel(4, seed, 2, lambda length: 0.8)

        found = beam_search(model, [1, 3], 200, 4, 2, length_penalty).beams

        want = exhaustive(model, [1, 3], 4, 2, length_penalty)
        assert [tokens for tokens, _ in found] == [tokens for tokens, _ in want]
        assert [score for _, score in found] == pytest.approx([score for _, score in want])


def test_exhaustion_finds_every_sequence_once_and_all_probability():
    model = HistoryModel(3, 8, 1)

    found = exhaustive(model, [0], 4, 1, length_penalty=0.0)

    every = {row[: row.index(1) + 1] if 1 in row else row for row in product(range(3), repeat=4)}
    assert sorted(tuple(tokens) for tokens, _ in found) == sorted(every)
    assert math.fsum(math.exp(score) for _, score in found) == pytest.approx(1.0)
    assert all(better[1] >= worse[1] for better, worse in pairwise(found))


def hub_model() -> LlamaForCausalLM:
    torch.manual_seed(4)
    config = LlamaConfig(
        vocab_size=13,
        hidden_size=24,
        intermediate_size=30,
        num_hidden_layers=2,
        num_attention_heads=3,
        num_key_value_heads=1,
        initializer_range=0.6,
        attn_implementation="eager",
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    return LlamaForCausalLM(config).eval()


@pytest.mark.parametrize(("num_beams", "length_penalty"), [(1, 1.0), (3, 1.0), (5, 0.4), (4, 2.0)])
def test_beams_without_eos_are_those_of_transformers(num_beams, length_penalty):
    model = hub_model()
    prompt = [3, 7, 1]

    @torch.no_grad()
    def logits(history):
        return model(torch.tensor([list(history)])).logits[0, -1].tolist()

    found = beam_search(logits, prompt, num_beams, 6, eos_id=-1, length_penalty=length_penalty)
    options = {} if num_beams == 1 else {"length_penalty": length_penalty}
    theirs = model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, 3, dtype=torch.int64),
        max_new_tokens=6,
        do_sample=False,
        num_beams=num_beams,
        num_return_sequences=num_beams,
        output_scores=True,
        return_dict_in_generate=True,
        **options,
    )

    assert found.margin > 1e-4
    assert [tokens for tokens, _ in found.beams] == theirs.sequences[:, 3:].tolist()
    if num_beams > 1:
        scores = [score for _, score in found.beams]
        assert scores == pytest.approx(theirs.sequences_scores.tolist(), abs=1e-4)


def test_margin_says_how_far_a_decision_is_from_another():
    def uneven(history):
        return [math.log(chance) for chance in (0.5, 0.3, 0.15, 0.05)]

    # The two that are kept are log 5/3 apart, the slot is won by log 2: each sum may move half.
    assert beam_search(uneven, [0], 2, 1, -1).margin == pytest.approx(math.log(5 / 3) / 2)


# --- models and puzzles ----------------------------------------------------------------------


def test_every_token_of_a_history_and_their_order_matter():
    model = HistoryModel(11, 3, 0)
    histories = [[1, 2, 3], [2, 1, 3], [9, 2, 3], [1, 9, 3], [1, 2, 9], [2, 3], [12, 3], [1, 23]]

    rows = [tuple(model(history)) for history in histories]

    assert len(set(rows)) == len(histories)
    assert rows == [tuple(HistoryModel(11, 3, 0)(history)) for history in histories]
    assert rows[0] != tuple(HistoryModel(11, 4, 0)([1, 2, 3]))


def test_bonus_moves_eos_alone_and_something_is_always_possible():
    plain, raised = (HistoryModel(7, 5, 2, lambda length, x=x: x) for x in (0.0, 4.0))
    sparse = HistoryModel(5, 9, 1, impossible=0.9)

    moved = [b - a for a, b in zip(plain([1, 3]), raised([1, 3]), strict=True)]

    assert moved == pytest.approx([0, 0, 4, 0, 0, 0, 0], abs=1e-5)
    assert all(any(x > -math.inf for x in sparse([token])) for token in range(200))


def test_log_probabilities_are_torchs():
    row = HistoryModel(9, 1, 0, impossible=0.3, spread=200.0)([4])

    want = torch.tensor(row, dtype=torch.float64).log_softmax(-1)

    assert log_probabilities(row) == pytest.approx(want.tolist())


def test_clear_puzzles_are_clear_and_as_asked():
    for seed in range(5):
        puzzle = clear_puzzle(
            random.Random(seed),
            num_beams=3,
            max_new_tokens=4,
            length=5,
            eos_in_prompt=True,
            such_that=lambda puzzle, found: found[0] != puzzle.best()[0],
        )

        assert puzzle.solve().margin > MARGIN
        assert puzzle.prompt[1::2] == [puzzle.eos_id] * 2
        assert puzzle.solve().beams[0] != puzzle.best()[0]
        assert len(puzzle.solve(num_beams=1).beams) == 1


def test_what_cannot_be_is_not_searched_for_ever():
    def never(puzzle: Puzzle, found: object) -> bool:
        return False

    with pytest.raises(RuntimeError, match="clear"):
        clear_puzzle(random.Random(1), num_beams=1, max_new_tokens=1, vocab=2, such_that=never)
