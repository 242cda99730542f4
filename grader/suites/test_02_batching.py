"""Hidden suite of lab 02. The model is ours: what it is asked, and how often, cannot be forged."""

import itertools
import json
import shutil
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from grader.suite import (
    Folder,
    Mismatch,
    Proxy,
    assert_equal,
    assert_unmodified,
    check,
    describe,
    expect,
    task,
)
from reference import batching as oracle
from reference import llama
from reference.scripted.masked import MaskedModel, Misuse

VOCAB = 61
Triple = tuple[Tensor, Tensor, Tensor]


# --- pad -------------------------------------------------------------------------------------


def prompts_of(draw: Any, lengths: Sequence[int]) -> list[list[int]]:
    """Random prompts; ids 0, 1 and 2 occur in none of them."""
    return [[3 + token for token in draw.tokens(VOCAB - 3, length)] for length in lengths]


def padded(student: Any, prompts: list[list[int]], pad_id: int) -> Triple:
    return expect(student.left_pad(prompts, pad_id), Triple)


@task("pad", contract=1, gate=True)
def test_prompts_end_in_the_last_column(student, draw):
    """left_pad puts pad_id on the left, each prompt at the right end; T is the longest prompt."""
    prompts = prompts_of(draw, (4, 1, 6, 3))

    tokens, _, _ = padded(student, prompts, 2)

    assert_equal(tokens, oracle.left_pad(prompts, 2)[0], "tokens")


@task("pad", contract=2)
def test_positions_count_from_the_first_real_token(student, draw):
    """Positions are 0 at a row's first real token, grow by one from there, and are 0 in padding."""
    prompts = prompts_of(draw, (3, 7, 1, 5))

    _, positions, _ = padded(student, prompts, 1)

    assert_equal(positions, oracle.left_pad(prompts, 1)[1], "positions")


@task("pad", contract=3)
def test_valid_marks_the_real_tokens(student, draw):
    """valid is a bool tensor, True exactly at the tokens of the prompts."""
    prompts = prompts_of(draw, (2, 5, 1, 8))

    _, _, valid = padded(student, prompts, 1)

    assert_equal(valid, oracle.left_pad(prompts, 1)[2], "valid")


@task("pad", contract=4)
@pytest.mark.parametrize("pad_id", [0, 17], ids=["id zero", "another id"])
def test_pad_id_inside_a_prompt_is_a_real_token(student, pad_id):
    """What is real follows from the lengths: pad_id may occur anywhere in a prompt."""
    prompts = [[pad_id, 5, pad_id], [9], [pad_id, pad_id, 4, 6, pad_id], [pad_id]]

    got = padded(student, prompts, pad_id)

    for grid, want, name in zip(
        got, oracle.left_pad(prompts, pad_id), ("tokens", "positions", "valid"), strict=True
    ):
        assert_equal(grid, want, f"{name}, with pad_id in the prompts,")


@task("pad", contract=4)
@pytest.mark.parametrize("pad_id", [0, 65_536, 2**24 + 1, 2**31 - 1])
def test_ids_of_any_size(student, pad_id):
    """An id, be it pad_id's or a prompt's, may be larger than 16 bits or a float32 can tell."""
    prompts = [[2**24 + 1, 65_535, 65_536], [131_071], [pad_id, 2**31 - 1]]

    got = padded(student, prompts, pad_id)

    assert_equal(got, oracle.left_pad(prompts, pad_id), "the triple (tokens, positions, valid)")


@task("pad", contract=5)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_smallest_batches(student, draw, rows):
    """Of prompts of one, two and three tokens, every combination is lined up."""
    ways = itertools.product((1, 2, 3), repeat=rows)
    batches = [prompts_of(draw, lengths) for lengths in ways]

    got = expect(student.together("left_pad", *((each, 2) for each in batches)), list)

    for each, prompts in zip(got, batches, strict=True):
        triple = expect(each, Triple)
        assert_equal(triple, oracle.left_pad(prompts, 2), "the triple (tokens, positions, valid)")


@task("pad", contract=5)
@pytest.mark.parametrize(
    "lengths", [(1,), (5,), (4, 4, 4), (60, 1, 31, 2, 1), (2051, 1, 300)], ids=str
)
def test_batches_of_all_shapes(student, draw, lengths):
    """left_pad works for one prompt, for equal lengths and for lengths far apart."""
    prompts = prompts_of(draw, lengths)

    got = padded(student, prompts, 2)

    assert_equal(got, oracle.left_pad(prompts, 2), "the triple (tokens, positions, valid)")


@task("pad", contract=6)
@pytest.mark.parametrize("prompts", [[[4, 8], [], [6]], [[]]], ids=["among others", "alone"])
def test_left_pad_refuses_an_empty_prompt(student, prompts):
    """An empty prompt is a ValueError that names prompts."""
    with student.raises(ValueError, naming="prompts"):
        student.left_pad(prompts, 2)


@task("pad", contract=7)
def test_left_pad_leaves_the_prompts_alone(student, draw):
    """The lists of the prompts are not modified."""
    prompts = student.watch(prompts_of(draw, (4, 1, 3)))

    expect(student.left_pad(prompts, 2), Triple)

    assert_unmodified(prompts, "prompts")


# --- mask ------------------------------------------------------------------------------------


def grid(*rows: str) -> Tensor:
    """Read valid from pictures: ``x`` is a real token, ``.`` padding."""
    return torch.tensor([[cell == "x" for cell in row] for row in rows])


def masked(student: Any, valid: Tensor) -> Tensor:
    """Ask for the mask and check its form."""
    mask = expect(student.causal_mask(valid), Tensor, "the mask")
    batch, width = valid.shape
    wanted = [batch, 1, width, width]
    right = mask.dtype is torch.bool and list(mask.shape) == wanted
    check(right, f"the mask is {describe(mask)}, expected a bool tensor of shape {wanted}")
    return mask


LEFT = grid("..xxxxx", "xxxxxxx", "......x", "....xxx")


@task("mask", contract=8, gate=True)
def test_real_query_sees_the_real_keys_up_to_itself(student):
    """A real query may attend to the real keys at or before its own column, and to no others."""
    got = masked(student, LEFT)

    want = oracle.causal_mask(LEFT)
    assert_equal(got[:, 0][LEFT], want[:, 0][LEFT], "the mask of the real queries")


@task("mask", contract=9)
def test_padding_query_attends_to_itself_alone(student):
    """A padding query may attend to itself and to nothing else, so that its softmax is defined."""
    got = masked(student, LEFT)

    want = oracle.causal_mask(LEFT)
    assert_equal(got[:, 0][~LEFT], want[:, 0][~LEFT], "the mask of the padding queries")


@task("mask", contract=11)
@pytest.mark.parametrize(
    "valid",
    [
        pytest.param(grid("xxx..", "xxxxx", "x...."), id="padding on the right"),
        pytest.param(grid("x.xx.x", ".x..xx", "xx..x."), id="holes"),
        pytest.param(grid("....", "..xx", "...."), id="rows of padding only"),
        pytest.param(grid("xxxx", "xxxx", "xxxx"), id="no padding"),
        pytest.param(grid("x", ".", "x"), id="one column"),
        pytest.param(grid("..xxx"), id="one row"),
    ],
)
def test_any_pattern_of_valid(student, valid):
    """The rule holds for every pattern of valid, not for left padding alone."""
    got = masked(student, valid)

    assert_equal(got, oracle.causal_mask(valid), "the mask")


@task("mask", contract=11)
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_every_pattern_of_few_columns(student, width):
    """The rule holds for each of the patterns that one to four columns can have."""
    valid = torch.tensor([*itertools.product((False, True), repeat=width)])

    got = masked(student, valid)

    assert_equal(got, oracle.causal_mask(valid), "the mask")


@task("mask", contract=11)
def test_more_columns_than_a_buffer_has(student, draw):
    """The rule holds for more than a thousand columns."""
    valid = torch.rand(1, 1031, generator=draw.generator) < 0.7

    got = masked(student, valid)

    assert_equal(got, oracle.causal_mask(valid), "the mask")


@task("mask", contract=10)
def test_mask_is_on_the_device_of_valid(student, draw):
    """The mask is on the device of valid, also where torch makes tensors on another."""
    valid = torch.rand(3, 7, generator=draw.generator) < 0.6
    torch_ = student.handle("torch", given="llama")
    torch_.set_default_device("meta")
    try:
        got = student.causal_mask(valid)
    finally:
        torch_.set_default_device(None)

    assert_equal(got, oracle.causal_mask(valid), "the mask")


@task("mask", contract=10)
def test_random_patterns(student, draw):
    """The mask is bool [B, 1, T, T], and each row of the batch has its own pattern."""
    valid = torch.rand(5, 23, generator=draw.generator) < 0.6

    got = masked(student, valid)

    assert_equal(got, oracle.causal_mask(valid), "the mask")


@task("mask", contract=12)
def test_causal_mask_leaves_valid_alone(student, draw):
    """causal_mask changes nothing in valid, which may be a view of something larger."""
    base = torch.rand(4, 19, generator=draw.generator) < 0.5
    valid = base[:, 3:14]
    want = oracle.causal_mask(valid)
    watched = student.watch(valid)

    got = expect(student.causal_mask(watched), Tensor, "the mask")

    assert_unmodified(watched, "valid")
    assert_equal(got, want, "the mask")


@task("mask", contract=12)
def test_valid_may_be_any_view(student, draw):
    """Whatever way valid lies in memory, the mask is that of its values."""
    valid = torch.rand(4, 6, generator=draw.generator) < 0.5
    wide = torch.ones(9, 13, dtype=torch.bool)
    wide[1:9:2, 1::2] = valid
    views = {
        "every second row and column": wide[1:9:2, 1::2],
        "columns that are rows in memory": valid.T.contiguous().T,
        "an axis moved": valid[None].movedim(-1, 0).contiguous().movedim(0, -1)[0],
        "one row for all": valid[:1].expand(4, 6),
    }
    for name, view in views.items():
        watched = student.watch(view)

        got = expect(student.causal_mask(watched), Tensor, f"the mask of {name}")

        assert_equal(got, oracle.causal_mask(view), f"the mask of {name}")
        assert_unmodified(watched, "valid")


# --- waste -----------------------------------------------------------------------------------


def assert_waste(student: Any, lengths: list[int]) -> None:
    """Compare with the oracle; a share of 0 may be an int: whether it is a float comes below."""
    got = expect(student.padding_waste(lengths), float | int, "the share")
    want = oracle.padding_waste(lengths)
    check(abs(got - want) < 1e-9, f"the share is {got}, expected {want:.6f}")


@task("waste", contract=13, gate=True)
@pytest.mark.parametrize(
    "lengths",
    [[3, 5, 2], [4, 4, 4], [9], [0, 6, 1, 6, 2]],
    ids=["three lengths", "equal lengths", "one length", "a zero among them"],
)
def test_share_of_padding(student, lengths):
    """The waste is the padding cells over all cells, which are B times the longest length."""
    assert_waste(student, lengths)


@task("waste", contract=13)
def test_share_of_padding_in_a_long_batch(student, draw):
    """The waste is the padding cells over all cells, which are B times the longest length."""
    lengths = [len(draw.tokens(7, n)) for n in draw.integers(1, 300, 37).tolist()]

    assert_waste(student, lengths)


@task("waste", contract=13)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_share_of_padding_of_few_lengths(student, rows):
    """The share is right for every combination of the lengths 0, 1 and 2."""
    batches = [[*lengths] for lengths in itertools.product((0, 1, 2), repeat=rows)]

    got = expect(student.together("padding_waste", *((each,) for each in batches)), list)

    for share, lengths in zip(got, batches, strict=True):
        want, mine = oracle.padding_waste(lengths), expect(share, float | int, "the share")
        say = f"the share of lengths {lengths} is {mine}, expected {want:.6f}"
        check(abs(mine - want) < 1e-9, say)


@task("waste", contract=13)
@pytest.mark.parametrize(("longest", "others"), [(2**31 + 9, 1), (10**7, 900), (3 * 10**9, 5)])
def test_share_of_padding_among_billions_of_cells(student, longest, others):
    """Cells are counted as far as they go: beyond 32 bits, and beyond what a float32 can tell."""
    short = longest // 3

    got = expect(student.padding_waste([longest] + [short] * others), float | int, "the share")

    want = (longest - short) * others / (longest * (others + 1))
    check(abs(got - want) < 1e-9, f"the share is {got}, expected {want:.9f}")


@task("waste", contract=14)
@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]], ids=["no lengths", "one zero", "zeros"])
def test_nothing_to_pad_wastes_nothing(student, lengths):
    """Without any token there is no padding: the share is 0.0."""
    assert_waste(student, lengths)


@task("waste", contract=16)
@pytest.mark.parametrize("lengths", [[], [0, 0], [4, 4, 4], [9], [1, 2]], ids=str)
def test_share_is_a_float(student, lengths):
    """The share is a float, 0.0 too."""
    expect(student.padding_waste(lengths), float, "the share")


@task("waste", contract=15)
@pytest.mark.parametrize(
    "lengths",
    [[5, -1, 2], [-3], [0, -2], [-4, 4]],
    ids=["among others", "alone", "zero", "balanced"],
)
def test_negative_length_is_refused(student, lengths):
    """A negative length is a ValueError that names lengths, whatever stands beside it."""
    with student.raises(ValueError, naming="lengths"):
        student.padding_waste(lengths)


@task("waste", contract=17)
def test_padding_waste_leaves_the_lengths_alone(student):
    """The list of the lengths is not modified."""
    lengths = student.watch([4, 9, 2])

    expect(student.padding_waste(lengths), float | int, "the share")

    assert_unmodified(lengths, "lengths")


# --- generate --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """Prompts, the model that will continue them, and what each of them gives alone."""

    prompts: list[list[int]]
    eos_ids: list[int]
    pad_id: int
    model: MaskedModel

    def alone(self, max_new_tokens: int) -> list[list[int]]:
        return [
            oracle.solo_run(self.model.logits, prompt, max_new_tokens, self.eos_ids)
            for prompt in self.prompts
        ]


def batch_of(
    draw: Any,
    lengths: Sequence[int],
    ends: Sequence[int | None] = (),  # tokens that a row says before its EOS; None: it never ends
    num_eos: int = 1,
) -> Batch:
    """Make a batch with distinct first tokens; neither pad_id nor an EOS id occurs in a prompt."""
    ids = torch.randperm(VOCAB, generator=draw.generator).tolist()
    eos_ids, pad_id, words = ids[:num_eos], ids[num_eos], ids[num_eos + 1 :]
    prompts = [
        [words[row], *(draw.choice(words) for _ in range(length - 1))]
        for row, length in enumerate(lengths)
    ]
    endings = {
        prompt[0]: (len(prompt) + count, eos_ids[row % num_eos])
        for row, (prompt, count) in enumerate(zip(prompts, ends, strict=False))
        if count is not None
    }
    return Batch(prompts, eos_ids, pad_id, MaskedModel(VOCAB, draw.seed, eos_ids, endings))


def run(
    student: Any,
    batch: Batch,
    max_new_tokens: int,
    pad_id: int | None = None,
    prompts: Any = None,
    eos_ids: Any = None,
) -> Any:
    """Generate with the batch's model; a call that no model could answer fails the test."""
    model = batch.model

    def lent(*args: Any, **kwargs: Any) -> Tensor:
        try:
            return model(*args, **kwargs)
        except Misuse as misuse:
            raise Mismatch(f"the model was called wrongly: {misuse}") from None

    pad = batch.pad_id if pad_id is None else pad_id
    given = batch.prompts if prompts is None else prompts
    ends = batch.eos_ids if eos_ids is None else eos_ids
    got = student.generate(student.lend(lent), given, max_new_tokens, ends, pad)
    return expect(got, list[list[int]])


def assert_rows(got: list[list[int]], want: list[list[int]], batch: Batch) -> None:
    """Fail with the first row that differs from its solo run, and where."""
    check(len(got) == len(want), f"{len(got)} rows came back, expected {len(want)}")
    for row, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        if mine == theirs:
            continue
        same = (a == b for a, b in zip(mine, theirs, strict=False))
        step = next((i for i, equal in enumerate(same) if not equal), None)
        size = f"row {row} (a prompt of {len(batch.prompts[row])} tokens)"
        hint = f"; {batch.model.notes[0]}" if batch.model.notes else ""
        if step is not None:
            apart = f"new token {step} is {mine[step]}, expected {theirs[step]} as in its solo run"
            raise Mismatch(f"{size}: {apart}{hint}")
        count = f"{len(mine)} new tokens, expected {len(theirs)} as in its solo run"
        raise Mismatch(f"{size}: {count}{hint}")


def assert_calls(batch: Batch, wanted: int) -> None:
    calls = len(batch.model.calls)
    check(calls == wanted, f"the model was called {calls} times, expected {wanted}, one a step")


@task("generate", contract=18, gate=True)
def test_each_row_equals_its_solo_run(student, draw):
    """A row gets the tokens that its prompt gets alone, in the order of the prompts."""
    batch = batch_of(draw, (5, 2, 7, 4))

    got = run(student, batch, 6)

    assert_rows(got, batch.alone(6), batch)


@task("generate", contract=19, gate=True)
def test_one_call_per_step_for_all_rows(student, draw):
    """Each step calls the model once, with all rows that still need an answer."""
    batch = batch_of(draw, (3, 8, 5))

    got = run(student, batch, 5)

    assert_calls(batch, 5)
    assert_rows(got, batch.alone(5), batch)


@task("generate", contract=20)
def test_rows_end_at_different_steps(student, draw):
    """A row ends at its own EOS, which is not returned; the others go on as if alone."""
    batch = batch_of(draw, (4, 6, 1, 3, 5, 2), ends=(2, None, 0, 5, 1, 6))

    got = run(student, batch, 6)

    assert_rows(got, batch.alone(6), batch)


@task("generate", contract=21)
def test_each_of_the_eos_ids_ends_a_row(student, draw):
    """Any of eos_ids ends a row, and none of them is returned."""
    batch = batch_of(draw, (2, 5, 3, 4), ends=(1, 2, 3, 1), num_eos=3)

    got = run(student, batch, 5)

    assert_rows(got, batch.alone(5), batch)


@task("generate", contract=24)
@pytest.mark.parametrize("ends", [(1, 3, 2), (0, 0, 0)], ids=str)
def test_no_call_after_the_last_row_has_ended(student, draw, ends):
    """The model is not called again once every row has said EOS."""
    batch = batch_of(draw, (5, 2, 4), ends)

    got = run(student, batch, 9)

    want = batch.alone(9)
    assert_rows(got, want, batch)
    assert_calls(batch, oracle.calls_needed(want, 9))


@task("generate", contract=22)
def test_eos_inside_a_prompt_does_not_end_its_row(student, draw):
    """Only a generated EOS ends a row; in a prompt it is a token like any other."""
    batch = batch_of(draw, (4, 5, 3), ends=(3, None, 1), num_eos=2)
    for prompt in batch.prompts:
        prompt[1] = batch.eos_ids[0]
    batch.prompts[1][-1] = batch.eos_ids[1]

    got = run(student, batch, 5)

    assert_rows(got, batch.alone(5), batch)


@task("generate", contract=23)
def test_pad_id_is_an_ordinary_token_elsewhere(student, draw):
    """pad_id may occur in prompts and be generated; neither makes a token padding."""
    batch = batch_of(draw, (5, 2, 6))
    pad_id = batch.alone(6)[0][2]
    batch.prompts.extend([[pad_id], [pad_id, pad_id, batch.prompts[0][0], pad_id]])

    got = run(student, batch, 6, pad_id)

    assert_rows(got, batch.alone(6), batch)


@task("generate", contract=23)
def test_pad_id_may_be_an_eos_id(student, draw):
    """Many tokenizers pad with EOS: padding on the left ends no row."""
    batch = batch_of(draw, (3, 6, 1, 4), ends=(2, None, 4, 0), num_eos=2)

    got = run(student, batch, 5, batch.eos_ids[0])

    assert_rows(got, batch.alone(5), batch)


@task("generate", contract=26)
def test_equal_prompts_get_equal_answers(student, draw):
    """A prompt's answer depends neither on its place in the batch nor on its neighbours."""
    batch = batch_of(draw, (6, 2, 4), ends=(None, 3, 1))
    a, b, c = batch.prompts
    batch.prompts[:] = [c, a, list(b), list(a), b, list(c)]

    got = run(student, batch, 5)

    assert_rows(got, batch.alone(5), batch)


@task("generate", contract=27)
@pytest.mark.parametrize("lengths", [(1,), (4,), (60, 1, 33, 1, 2), (300, 1, 258)], ids=str)
def test_batches_of_all_sizes(student, draw, lengths):
    """One row, many rows, equal or very different lengths: each row is as alone."""
    batch = batch_of(draw, lengths)

    got = run(student, batch, 4)

    want = batch.alone(4)
    assert_rows(got, want, batch)
    assert_calls(batch, 4)


@task("generate", contract=27)
def test_batch_of_forty_rows(student, draw):
    """Forty rows are one batch too: each is as alone, and all share each call."""
    batch = batch_of(draw, draw.integers(1, 7, 40).tolist())

    got = run(student, batch, 2)

    assert_rows(got, batch.alone(2), batch)
    assert_calls(batch, 2)


@task("generate", contract=25)
@pytest.mark.parametrize("max_new_tokens", [0, 1, 2])
@pytest.mark.parametrize("rows", [1, 2])
def test_smallest_batches_of_answers(student, draw, rows, max_new_tokens):
    """With one or two rows, of one or two tokens, that end at once, later or never: all of it."""
    shapes = itertools.product((1, 2), (None, 0, 1))
    for ways in itertools.product([*shapes], repeat=rows):
        lengths, ends = zip(*ways, strict=True)
        batch = batch_of(draw, lengths, ends)

        got = run(student, batch, max_new_tokens)

        want = batch.alone(max_new_tokens)
        assert_rows(got, want, batch)
        assert_calls(batch, oracle.calls_needed(want, max_new_tokens))


@task("generate", contract=25)
@pytest.mark.parametrize("max_new_tokens", [0, 1])
def test_few_tokens(student, draw, max_new_tokens):
    """max_new_tokens bounds every row: 0 gives empty rows without any call, 1 takes one call."""
    batch = batch_of(draw, (3, 1, 5), ends=(None, 1, 0))

    got = run(student, batch, max_new_tokens)

    assert_rows(got, batch.alone(max_new_tokens), batch)
    assert_calls(batch, max_new_tokens)


@task("generate", contract=21)
def test_no_eos_ids(student, draw):
    """Without any EOS id every row runs to max_new_tokens."""
    batch = batch_of(draw, (2, 4, 3), num_eos=0)

    got = run(student, batch, 3)

    assert_rows(got, batch.alone(3), batch)


@task("generate", contract=28)
def test_empty_batch_gives_an_empty_list(student, draw):
    """No prompts, no answers, no call of the model."""
    batch = batch_of(draw, ())

    got = run(student, batch, 4)

    assert_equal(got, [])
    assert_calls(batch, 0)


@task("generate", contract=30)
def test_generate_leaves_the_prompts_alone(student, draw):
    """The lists of the prompts and of the EOS ids are not modified."""
    batch = batch_of(draw, (3, 5, 1), ends=(2, 1, 3), num_eos=2)
    prompts, eos_ids = student.watch([*batch.prompts]), student.watch([*batch.eos_ids])

    run(student, batch, 3, prompts=prompts, eos_ids=eos_ids)

    assert_unmodified(prompts, "prompts")
    assert_unmodified(eos_ids, "eos_ids")


@task("generate", contract=29)
def test_generate_refuses_an_empty_prompt(student, draw):
    """An empty prompt is a ValueError that names prompts."""
    batch = batch_of(draw, (3, 1, 2))
    batch.prompts[1].clear()

    with student.raises(ValueError, naming="prompts"):
        run(student, batch, 4)


# --- engine ----------------------------------------------------------------------------------

TEXTS = (
    "import os\nimport sys\n",
    "def __init__(self",
    "for i in range(",
    "class Error(Exception):\n",
    "    if not isinstance(",
    "        raise ValueError(",
    "try:\n    import json\nexcept Import",
    "    def __repr__(self):\n        return ",
    "if __name__ == ",
    "if __name__ == '__main",
    "    def __enter__(self):\n        return self\n\n    def __exit__(self, ",
    "with open(filename, 'rb') as ",
    "    while True:\n        try:\n            line = self.read",
    "from collections import ",
    "x",
)
SIZES = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "tie_word_embeddings": False,
    "dtype": "float32",
}


class Truth:
    """A checkpoint in float64 on our side, for greedy continuations of single prompts."""

    def __init__(self, folder: Path) -> None:
        raw = json.loads((folder / "config.json").read_text())
        self.config = SimpleNamespace(
            num_layers=raw["num_hidden_layers"],
            num_heads=raw["num_attention_heads"],
            num_kv_heads=raw["num_key_value_heads"],
            head_dim=raw["head_dim"],
            rms_norm_eps=raw["rms_norm_eps"],
            rope_theta=raw.get("rope_parameters", raw)["rope_theta"],
            tie_word_embeddings=raw["tie_word_embeddings"],
        )
        self.raw = raw
        self.stored = load_file(folder / "model.safetensors")
        self.weights = {name: weight.double() for name, weight in self.stored.items()}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text).ids

    def decode(self, tokens: list[int]) -> str:
        return self.tokenizer.decode(tokens, skip_special_tokens=True)

    def greedy(self, text: str, steps: int) -> list[int]:
        """Return the greedy tokens, cut before the first one that rounding might turn."""
        prompt = self.encode(text)
        tokens, margins = llama.greedy(self.config, self.weights, prompt, steps)
        history = torch.tensor([prompt + tokens])
        rounded = llama.logits(self.config, self.stored, history).double()
        error = (rounded - llama.logits(self.config, self.weights, history)).abs().max().item()
        close = (i for i, margin in enumerate(margins) if margin < 1e-3 + 4 * error)
        return tokens[: next(close, steps)]


def small_checkpoint(student: Any, draw: Any) -> tuple[Folder, Truth]:
    """Make a small random Llama with the target's tokenizer and no EOS id."""
    source, folder = student.checkpoint("target").host, student.new_folder()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(source / name, folder.host / name)
    raw = json.loads((source / "config.json").read_text()) | SIZES
    (folder.host / "config.json").write_text(json.dumps(raw))
    save_file(random_weights(draw, raw["vocab_size"]), folder.host / "model.safetensors")
    (folder.host / "model.safetensors").chmod(0o644)  # the worker is another user
    set_eos(folder, [], [])
    return folder, Truth(folder.host)


def set_eos(folder: Folder, of_config: list[int], of_generation: list[int]) -> None:
    """Write the EOS ids into the two files of a checkpoint that may name some."""
    raw = json.loads((folder.host / "config.json").read_text())
    for name, content, eos in (
        ("config.json", raw, of_config),
        ("generation_config.json", {}, of_generation),
    ):
        (folder.host / name).write_text(json.dumps(content | {"eos_token_id": eos}))


def random_weights(draw: Any, vocab: int) -> dict[str, Tensor]:
    """Draw the weights of a Llama of ``SIZES``, wild enough that its tokens differ by prompt."""
    embed, inner = SIZES["hidden_size"], SIZES["intermediate_size"]
    queries = SIZES["num_attention_heads"] * SIZES["head_dim"]
    keys = SIZES["num_key_value_heads"] * SIZES["head_dim"]
    shapes = {
        "self_attn.q_proj": (queries, embed),
        "self_attn.k_proj": (keys, embed),
        "self_attn.v_proj": (keys, embed),
        "self_attn.o_proj": (embed, queries),
        "mlp.gate_proj": (inner, embed),
        "mlp.up_proj": (inner, embed),
        "mlp.down_proj": (embed, inner),
    }
    norms = ("input_layernorm", "post_attention_layernorm")
    weights = {"model.norm": torch.ones(embed)}
    for i in range(SIZES["num_hidden_layers"]):
        for name, shape in shapes.items():
            weights[f"model.layers.{i}.{name}"] = draw.normal(*shape, scale=2 * shape[1] ** -0.5)
        weights |= {f"model.layers.{i}.{name}": 1 + draw.normal(embed, scale=0.1) for name in norms}
    weights["model.embed_tokens"] = draw.normal(vocab, embed)
    weights["lm_head"] = draw.normal(vocab, embed, scale=embed**-0.5)
    return {f"{name}.weight": weight for name, weight in weights.items()}


def before(tokens: list[int], eos_ids: Sequence[int]) -> list[int]:
    """Return the tokens in front of the first EOS."""
    return list(itertools.takewhile(lambda token: token not in eos_ids, tokens))


def nearest(tokens: list[int], place: int, other_than: Container[int]) -> int:
    """Return the token nearest to a place that is none of the others, or else the one there."""
    places = [at for at, token in enumerate(tokens) if token not in other_than] or [place]
    return tokens[min(places, key=lambda at: abs(at - place))]


def clear_texts(draw: Any, truth: Truth, count: int, steps: int) -> dict[str, list[int]]:
    """Return ``count`` texts and their greedy tokens, beyond doubt for equally many steps."""
    found: dict[str, list[int]] = {}
    for text in draw.shuffled(TEXTS):
        found[text] = truth.greedy(text, steps)
        if [len(tokens) for tokens in found.values()].count(steps) == count:
            break
    best = sorted(found, key=lambda text: -len(found[text]))[:count]
    steps = min(len(found[text]) for text in best)
    return {text: found[text][:steps] for text in found if text in best}


def open_engine(student: Any, folder: Folder) -> Proxy:
    return expect(student.BatchEngine(folder.path), Proxy, "BatchEngine(...)")


def assert_texts(got: Any, want: list[str]) -> None:
    expect(got, list[str])
    check(len(got) == len(want), f"{len(got)} answers came back, expected {len(want)}")
    for index, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        alone = f"answer {index} is {mine[:60]!r}, expected {theirs[:60]!r}"
        check(mine == theirs, f"{alone}, which its prompt gives alone")


@task("engine", contract=31, gate=True)
def test_answers_are_those_of_each_prompt_alone(student, draw):
    """execute returns the text that each prompt gets alone, in order, without the prompt."""
    folder, truth = small_checkpoint(student, draw)
    texts = clear_texts(draw, truth, 5, 7)
    steps = len(next(iter(texts.values())))

    got = open_engine(student, folder).execute([*texts], max_new_tokens=steps)

    assert_texts(got, [truth.decode(tokens) for tokens in texts.values()])


@task("engine", contract=31)
def test_padding_does_not_show_in_a_trained_model(student, draw):
    """On the target checkpoint too, each answer is the one that its prompt gets alone."""
    folder = student.checkpoint("target")
    truth = Truth(folder.host)
    texts = clear_texts(draw, truth, 3, 4)
    steps = len(next(iter(texts.values())))

    got = open_engine(student, folder).execute([*texts], max_new_tokens=steps)

    eos = truth.raw["eos_token_id"]
    ends = [before(tokens, eos if isinstance(eos, list) else [eos]) for tokens in texts.values()]
    assert_texts(got, [truth.decode(tokens) for tokens in ends])


@task("engine", contract=33)
def test_every_eos_id_of_the_checkpoint_ends_its_row(student, draw):
    """The EOS ids are all that the checkpoint's files name; an answer stops before any of them."""
    folder, truth = small_checkpoint(student, draw)
    texts = clear_texts(draw, truth, 4, 7)
    paths = list(texts.values())
    asked = {token for text in texts for token in truth.encode(text)}
    places = (len(paths[0]) - 2, 1, len(paths[2]) - 3)
    eos = [nearest(path, at, asked) for path, at in zip(paths, places, strict=False)]
    set_eos(folder, eos[:2], eos[2:])

    got = open_engine(student, folder).execute([*texts], max_new_tokens=len(paths[0]))

    assert_texts(got, [truth.decode(before(path, eos)) for path in paths])


@task("engine", contract=34)
def test_default_is_128_new_tokens(student, draw):
    """Without max_new_tokens an answer has at most 128 new tokens."""
    folder, truth = small_checkpoint(student, draw)
    text = next(iter(clear_texts(draw, truth, 1, 4)))
    engine = open_engine(student, folder)

    got, asked, fewer = (
        expect(engine.execute([text], *limit), list[str], "the answers")
        for limit in ([], [128], [127])
    )

    assert_equal(got, asked, "the answer without max_new_tokens, beside the one with 128,")
    size = len(got[0])
    check(got != fewer, f"the answer has {size} characters as with 127 tokens, expected 128 tokens")


@task("engine", contract=34)
def test_no_tokens_give_empty_texts(student, draw):
    """max_new_tokens=0 gives an empty text for each prompt."""
    folder, _ = small_checkpoint(student, draw)

    got = open_engine(student, folder).execute(["def f(", "x"], max_new_tokens=0)

    assert_texts(got, ["", ""])


@task("engine", contract=36)
def test_no_prompts_give_no_answers(student, draw):
    """execute of an empty list is an empty list."""
    folder, _ = small_checkpoint(student, draw)

    assert_equal(open_engine(student, folder).execute([]), [], "the answer to no prompts")


@task("engine", contract=32)
@pytest.mark.parametrize("others", [0, 2], ids=["alone", "among others"])
def test_empty_text_is_a_prompt(student, draw, others):
    """An empty text is what the tokenizer makes of it: the token that stands before any text."""
    folder, truth = small_checkpoint(student, draw)
    texts = {"": truth.greedy("", 4)} | (clear_texts(draw, truth, others, 4) if others else {})
    steps = min(map(len, texts.values()))

    got = open_engine(student, folder).execute([*texts], max_new_tokens=steps)

    assert_texts(got, [truth.decode(tokens[:steps]) for tokens in texts.values()])


@task("engine", contract=35)
def test_prompts_share_each_forward_pass(student, draw):
    """execute puts its prompts through the model together, not one after the other."""
    folder, truth = small_checkpoint(student, draw)
    engine = open_engine(student, folder)
    longest = max(len(truth.encode(text)) for text in TEXTS)

    with student.largest_tensor() as largest:
        expect(engine.execute([*TEXTS], max_new_tokens=1), list[str], "the answers")

    # The logits, the largest tensor that the model needs: a row for each text, padded or not.
    alone = longest * truth.raw["vocab_size"]
    least = len(TEXTS) * alone
    most = f"the largest tensor has {largest.elements} elements, expected {least} or more"
    check(largest.elements >= least, f"{most}: room for all {len(TEXTS)} texts")


@task("engine", contract=37)
def test_execute_leaves_the_texts_alone(student, draw):
    """The list of the texts is not modified, whatever order the rows have inside."""
    folder, _ = small_checkpoint(student, draw)
    texts = student.watch([*draw.shuffled(TEXTS)[:6], ""])

    expect(open_engine(student, folder).execute(texts, max_new_tokens=2), list[str], "the answers")

    assert_unmodified(texts, "prompts")
