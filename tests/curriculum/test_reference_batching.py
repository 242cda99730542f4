"""The oracles of lab 02: examples, and a scripted model that forgets and forgives nothing."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.batching import calls_needed, causal_mask, left_pad, padding_waste, solo_run
from reference.scripted.masked import MAX_CALLS, MaskedModel, Misuse

VOCAB = 23
TOKENS = torch.tensor([[3, 7, 7, 1], [5, 2, 9, 4], [8, 8, 6, 0]])
POSITIONS = torch.arange(4).repeat(3, 1)
MASK = torch.ones(3, 1, 4, 4, dtype=torch.bool).tril()


def last(model: MaskedModel, tokens=TOKENS, positions=POSITIONS, mask=MASK) -> torch.Tensor:
    return model(tokens, positions, mask)[:, -1]


# --- definitions -----------------------------------------------------------------------------


def test_left_pad_on_an_example_with_pad_id_in_a_prompt():
    tokens, positions, valid = left_pad([[5, 6, 7], [8], [9, 4]], 4)

    assert tokens.tolist() == [[5, 6, 7], [4, 4, 8], [4, 9, 4]]
    assert positions.tolist() == [[0, 1, 2], [0, 0, 0], [0, 0, 1]]
    assert valid.tolist() == [[True] * 3, [False, False, True], [False, True, True]]


def test_causal_mask_on_left_padding_and_on_a_hole():
    mask = causal_mask(torch.tensor([[False, True, True], [True, False, True]]))

    assert mask.shape == (2, 1, 3, 3)
    assert mask[0, 0].int().tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert mask[1, 0].int().tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 1]]


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=4))
@settings(deadline=None)
def test_every_query_sees_a_key_and_never_a_later_one(rows):
    mask = causal_mask(torch.tensor(rows))

    assert mask.any(-1).all()
    assert not mask.triu(1).any()


@pytest.mark.parametrize(
    ("lengths", "share"), [([], 0.0), ([0, 0], 0.0), ([1, 4], 0.375), ([3, 3], 0.0), ([0, 5], 0.5)]
)
def test_padding_waste_counts_cells(lengths, share):
    assert padding_waste(lengths) == share


def test_calls_needed_counts_the_call_that_says_eos():
    assert calls_needed([[1, 2], [], [4]], 5) == 3
    assert calls_needed([[1, 2], [1, 2, 3]], 3) == 3
    assert calls_needed([[], []], 0) == 0
    assert calls_needed([], 7) == 0


# --- the scripted model ----------------------------------------------------------------------


def test_every_visible_token_and_position_changes_the_answer():
    plain = last(MaskedModel(VOCAB, 1))
    for column in range(4):
        tokens, positions = TOKENS.clone(), POSITIONS.clone()
        tokens[:, column] = (tokens[:, column] + 1) % VOCAB
        positions[:, column] += 50

        assert (last(MaskedModel(VOCAB, 1), tokens=tokens) != plain).any(-1).all()
        assert (last(MaskedModel(VOCAB, 1), positions=positions) != plain).any(-1).all()


def test_every_pair_of_the_mask_changes_the_answer():
    plain = last(MaskedModel(VOCAB, 1))
    for query in range(4):
        for key in range(4):
            mask = MASK.clone()
            mask[:, :, query, key] = ~mask[:, :, query, key]

            assert (last(MaskedModel(VOCAB, 1), mask=mask) != plain).any(-1).all()


def test_what_the_mask_hides_does_not_matter():
    prompts = [[3, 7], [5, 2, 9, 4]]
    answers = []
    for pad_id in (0, 11):
        tokens, positions, valid = left_pad(prompts, pad_id)
        answers.append(MaskedModel(VOCAB, 1)(tokens, positions, causal_mask(valid))[:, -1])

    assert torch.equal(*answers)


def test_a_padded_row_equals_its_solo_run():
    model = MaskedModel(VOCAB, 1, silent=[4])
    tokens, positions, valid = left_pad([[3, 7], [5, 2, 9, 4]], 0)

    together = model.logits(tokens, positions, causal_mask(valid))[:, -1].argmax(-1)

    assert [int(together[0])] == solo_run(model.logits, [3, 7], 1, [4])
    assert [int(together[1])] == solo_run(model.logits, [5, 2, 9, 4], 1, [4])


def test_logits_of_a_query_are_far_from_ties():
    best = last(MaskedModel(VOCAB, 1)).sort(-1).values

    assert best.diff(dim=-1).min() >= 1 / 8


def test_silent_ids_are_said_at_their_endings_only():
    model = MaskedModel(VOCAB, 1, silent=[4, 6], endings={3: (4, 6)})

    assert solo_run(model.logits, [3, 5], 9, []).index(6) == 2
    assert 4 not in solo_run(model.logits, [3, 5], 9, [])
    assert len(solo_run(model.logits, [3, 5], 9, [6])) == 2
    assert len(solo_run(model.logits, [5, 3], 9, [6])) == 9


def test_a_query_that_sees_nothing_makes_its_row_nan():
    mask = MASK.clone()
    mask[1, 0, 2] = False
    model = MaskedModel(VOCAB, 1)

    answer = model(TOKENS, POSITIONS, mask)

    assert answer.isnan().all(dim=(1, 2)).tolist() == [False, True, False]
    assert "row 1, column 2" in model.notes[0]


def test_calls_are_counted_and_bounded():
    model = MaskedModel(VOCAB, 1)
    last(model)
    assert model.calls == [(3, 4)]

    model.calls *= MAX_CALLS
    with pytest.raises(Misuse, match="more than"):
        last(model)


NAN = torch.full((3, 4), float("nan"))
MISUSES = {
    "nothing": (),
    "None": (TOKENS, POSITIONS, None),
    "lists": ([[1, 2]], POSITIONS, MASK),
    "a string": ("tokens", POSITIONS, MASK),
    "too many": (TOKENS, POSITIONS, MASK, None),
    "float tokens": (TOKENS.float(), POSITIONS, MASK),
    "complex tokens": (TOKENS.to(torch.complex64), POSITIONS, MASK),
    "flat tokens": (TOKENS[0], POSITIONS[0], MASK[:1]),
    "no rows": (TOKENS[:0], POSITIONS[:0], MASK[:0]),
    "no columns": (TOKENS[:, :0], POSITIONS[:, :0], MASK[..., :0, :0]),
    "negative ids": (TOKENS - 5, POSITIONS, MASK),
    "large ids": (TOKENS + VOCAB, POSITIONS, MASK),
    "NaN positions": (TOKENS, NAN, MASK),
    "positions of one row": (TOKENS, POSITIONS[:1], MASK),
    "int mask": (TOKENS, POSITIONS, MASK.long()),
    "float mask": (TOKENS, POSITIONS, torch.zeros(3, 1, 4, 4)),
    "mask without heads": (TOKENS, POSITIONS, MASK[:, 0]),
    "mask of one row": (TOKENS, POSITIONS, MASK[:1]),
    "mask too small": (TOKENS, POSITIONS, MASK[..., :3, :3]),
    "huge": (torch.zeros(1, 1, dtype=torch.int64).expand(9, 9_000), POSITIONS, MASK),
}


@pytest.mark.parametrize("arguments", MISUSES.values(), ids=MISUSES)
def test_nonsense_is_a_misuse_and_no_other_exception(arguments):
    model = MaskedModel(VOCAB, 1)

    with pytest.raises(Misuse):
        model(*arguments)

    assert model.calls == []
    assert len(model.misuses) == 1


def test_an_unknown_keyword_is_a_misuse():
    with pytest.raises(Misuse):
        MaskedModel(VOCAB, 1)(TOKENS, POSITIONS, attention_mask=MASK)


@pytest.mark.parametrize("positions", [POSITIONS - 7, POSITIONS + 2**62, POSITIONS.int()])
def test_any_integer_position_is_answered(positions):
    assert last(MaskedModel(VOCAB, 1), positions=positions).isfinite().all()


def test_keywords_and_int32_are_as_good():
    model = MaskedModel(VOCAB, 1)

    named = model(tokens=TOKENS.int(), mask=MASK, positions=POSITIONS.int())

    assert torch.equal(named[:, -1], last(model))
