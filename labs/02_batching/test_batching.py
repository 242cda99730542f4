"""Public tests of lab 02: the examples of the handout and more of their kind, by its numbers."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import one_hot

from grader.suite import (
    Folder,
    NotGraded,
    Proxy,
    assert_equal,
    assert_unmodified,
    check,
    describe,
    expect,
    task,
)

EXAMPLE = [[5, 6, 7], [8], [9, 4]]  # the prompts of the handout


# --- Task 1: left_pad ------------------------------------------------------------------------


def assert_grids(
    got: object, tokens: list[list[int]], positions: list[list[int]], valid: list[list[int]]
) -> None:
    """Compare what left_pad returns with its three tensors, written row by row."""
    grids = expect(got, tuple[Tensor, Tensor, Tensor])
    assert_equal(grids[0], torch.tensor(tokens), "tokens")
    assert_equal(grids[1], torch.tensor(positions), "positions")
    assert_equal(grids[2], torch.tensor(valid).bool(), "valid")


def one_grid(student, place: int, prompts: list[list[int]], pad_id: int) -> Tensor:
    """The tokens (0), the positions (1) or valid (2) of left_pad."""
    grids = expect(student.left_pad(prompts, pad_id), tuple)
    check(len(grids) == 3, f"{len(grids)} values came back, expected tokens, positions and valid")
    return grids[place]


@task("pad", contract=1)
@pytest.mark.parametrize("pad_id", [4, 0, 77])
def test_example_of_tokens(student, pad_id):
    """Prompts of 3, 1 and 2 tokens: T is 3, and pad_id stands on the left."""
    got = one_grid(student, 0, EXAMPLE, pad_id)

    assert_equal(got, torch.tensor([[5, 6, 7], [pad_id, pad_id, 8], [pad_id, 9, 4]]), "tokens")


@task("pad", contract=2)
def test_example_of_positions(student):
    """The first token of each prompt has position 0, and so has all padding; int64 as tokens."""
    got = one_grid(student, 1, EXAMPLE, 4)

    assert_equal(got, torch.tensor([[0, 1, 2], [0, 0, 0], [0, 0, 1]]), "positions")


@task("pad", contract=3)
def test_example_of_valid(student):
    """valid says True for 3, 1 and 2 tokens at the right end."""
    got = one_grid(student, 2, EXAMPLE, 4)

    want = torch.tensor([[True, True, True], [False, False, True], [False, True, True]])
    assert_equal(got, want, "valid")


@task("pad", contract=4)
@pytest.mark.parametrize("pad_id", [0, 8])
def test_a_prompt_full_of_pad_id(student, pad_id):
    """pad_id first, last, and alone in a prompt: there it is real."""
    p = pad_id

    got = student.left_pad([[p, 5, p, p], [p], [3, p]], pad_id)

    tokens = [[p, 5, p, p], [p, p, p, p], [p, p, 3, p]]
    valid = [[1, 1, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]]
    assert_grids(got, tokens, [[0, 1, 2, 3], [0, 0, 0, 0], [0, 0, 0, 1]], valid)


@task("pad", contract=5)
@pytest.mark.parametrize("prompts", [[[6]], [[6, 2, 9]], [[3, 1], [4, 1], [5, 9]]], ids=str)
def test_nothing_to_pad(student, prompts):
    """One prompt alone, or prompts of equal lengths: the tokens are the prompts."""
    got = student.left_pad(prompts, 7)

    width = len(prompts[0])
    positions, valid = [[*range(width)] for _ in prompts], [[1] * width for _ in prompts]
    assert_grids(got, prompts, positions, valid)


@task("pad", contract=5)
def test_one_token_beside_fifty(student):
    """The second prompt comes after 49 cells of padding, the third after 20."""
    long, half = [*range(100, 150)], [*range(30)]

    got = student.left_pad([long, [5], half], 9)

    tokens = [long, [9] * 49 + [5], [9] * 20 + half]
    positions = [[*range(50)], [0] * 50, [0] * 20 + [*range(30)]]
    assert_grids(got, tokens, positions, [[1] * 50, [0] * 49 + [1], [0] * 20 + [1] * 30])


@task("pad", contract=4)
def test_ids_of_a_large_vocabulary(student):
    """Ids above 65,535, as in vocabularies of 128,000, come out as they are."""
    got = one_grid(student, 0, [[100_000, 7], [127_999]], 128_000)

    assert_equal(got, torch.tensor([[100_000, 7], [128_000, 127_999]]), "tokens")


@task("pad", contract=2)
def test_positions_of_six_hundred_tokens(student):
    """The positions of 600 tokens are 0 to 599, each once; the other row ends with 0, 1."""
    got = one_grid(student, 1, [[3] * 600, [4, 5]], 0)

    assert_equal(got, torch.tensor([[*range(600)], [0] * 599 + [1]]), "positions")


@task("pad", contract=6)
@pytest.mark.parametrize("prompts", [[[]], [[], [5]], [[5, 6], [], [7]]], ids=str)
def test_a_prompt_without_tokens_is_refused(student, prompts):
    """left_pad raises a ValueError whose message says prompts."""
    with student.raises(ValueError, naming="prompts"):
        student.left_pad(prompts, 4)


@task("pad", contract=7)
def test_prompts_are_not_padded_in_place(student):
    """The lists that were passed hold what they held."""
    prompts = student.watch([[5, 6, 7], [8], [9, 4]])

    student.left_pad(prompts, 4)

    assert_unmodified(prompts, "prompts")


# --- Task 2: causal_mask ---------------------------------------------------------------------

T, F = True, False
PADDED = [[F, F, T, T], [T, T, T, T], [F, F, F, T]]
MASKS = [  # of PADDED, a line for each query
    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]],
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]],
    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
]


def assert_lines(got: object, real: bool) -> None:
    """Compare each line of a mask of PADDED whose query is real, or is padding."""
    mask = expect(got, Tensor, "the mask")
    wanted = "expected bool [3, 1, 4, 4]"
    right = mask.dtype == torch.bool and mask.shape == (3, 1, 4, 4)
    check(right, f"the mask is {describe(mask)}, {wanted}")
    for b, row in enumerate(PADDED):
        for query, is_real in enumerate(row):
            if is_real == real:
                line = torch.tensor(MASKS[b][query]).bool()
                which = f"row {b}, query {query}, of the mask"
                assert_equal(mask[b, 0, query].clone(), line, which)


@task("mask", contract=8)
def test_what_real_tokens_see(student):
    """A real token sees itself and the real ones before it, no later one and no padding."""
    assert_lines(student.causal_mask(torch.tensor(PADDED)), real=True)


@task("mask", contract=9)
def test_what_padding_sees(student):
    """The line of a padding query is True at the query itself and False everywhere else."""
    assert_lines(student.causal_mask(torch.tensor(PADDED)), real=False)


@task("mask", contract=10)
def test_example_of_a_mask(student):
    """The two rows of the handout, each with its own pattern, and an axis for the heads."""
    got = student.causal_mask(torch.tensor([[F, T, T], [T, F, T]]))

    left = [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    hole = [[1, 0, 0], [0, 1, 0], [1, 0, 1]]
    assert_equal(got, torch.tensor([[left], [hole]]).bool(), "the mask")


@task("mask", contract=10)
def test_mask_of_a_batch_is_that_of_its_rows(student):
    """Each row of the batch gets the mask that it gets alone."""
    rows = torch.tensor([[F, T, T, T, T], [T, T, F, F, T], [F, F, F, F, T], [T, T, T, T, T]])

    got = student.causal_mask(rows)

    each = [student.causal_mask(rows[b : b + 1]) for b in range(4)]
    alone = [expect(mask, Tensor, "the mask of a row", shape=(1, 1, 5, 5)) for mask in each]
    assert_equal(got, torch.cat(alone), "the mask of four rows, beside those of each alone,")


@task("mask", contract=11)
@pytest.mark.parametrize(
    ("valid", "want"),
    [
        ([T, T, F], [[1, 0, 0], [1, 1, 0], [0, 0, 1]]),
        ([F, T, F], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        ([T, F, T], [[1, 0, 0], [0, 1, 0], [1, 0, 1]]),
        ([F, F, F], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        ([T, T, T], [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),
        ([T], [[1]]),
        ([F], [[1]]),
    ],
    ids=str,
)
def test_padding_at_any_place(student, valid, want):
    """Padding may be on the right, on both sides, in a gap, everywhere or nowhere."""
    got = student.causal_mask(torch.tensor([valid]))

    assert_equal(got, torch.tensor([[want]]).bool(), "the mask")


@task("mask", contract=11)
def test_mask_of_1500_columns(student):
    """Where all is real a query sees all up to its own column, behind the thousandth too."""
    got = student.causal_mask(torch.full((1, 1500), True))

    mask = expect(got, Tensor, "the mask", shape=(1, 1, 1500, 1500))
    seen = mask[0, 0].long().sum(1)
    assert_equal(seen, torch.arange(1, 1501), "how many keys each query sees")


@task("mask", contract=12)
@pytest.mark.parametrize("layout", ["as it is", "two middle columns", "transposed"])
def test_valid_is_only_read(student, layout):
    """valid may be a view; neither it nor what lies around it changes."""
    valid = torch.tensor([[F, T], [T, F], [T, T]])
    if layout == "two middle columns":
        valid = torch.cat((~valid, valid, ~valid), dim=1)[:, 2:4]
    elif layout == "transposed":
        valid = valid.T.contiguous().T
    watched = student.watch(valid)

    got = student.causal_mask(watched)

    want = [[[[1, 0], [0, 1]]], [[[1, 0], [0, 1]]], [[[1, 0], [1, 1]]]]
    assert_equal(got, torch.tensor(want).bool(), "the mask")
    assert_unmodified(watched, "valid")


# --- Task 3: padding_waste -------------------------------------------------------------------


@task("waste", contract=13)
@pytest.mark.parametrize(
    ("lengths", "want"),
    [
        ([1, 4], 3 / 8),
        ([4, 1], 3 / 8),
        ([2, 4, 3], 3 / 12),
        ([0, 5], 5 / 10),
        ([7, 7], 0),
        ([100, 1, 1, 1], 297 / 400),
    ],
    ids=str,
)
def test_waste_of_a_few_lengths(student, lengths, want):
    """The padding cells, and all cells of which they are a share: 3 of 8 for lengths 1 and 4."""
    got = expect(student.padding_waste(lengths), float | int, "the waste")

    check(abs(got - want) < 1e-9, f"the waste is {got}, expected {want}")


@task("waste", contract=14)
@pytest.mark.parametrize("lengths", [[], [0], [0, 0]], ids=str)
def test_no_cells_no_waste(student, lengths):
    """A batch without cells wastes 0.0, and divides by nothing."""
    got = expect(student.padding_waste(lengths), float | int, "the waste")

    check(got == 0, f"the waste is {got}, expected 0.0")


@task("waste", contract=15)
@pytest.mark.parametrize("lengths", [[-1], [3, -2, 5], [-1, 1], [0, -1]], ids=str)
def test_length_below_zero_is_refused(student, lengths):
    """padding_waste raises a ValueError whose message says lengths."""
    with student.raises(ValueError, naming="lengths"):
        student.padding_waste(lengths)


@task("waste", contract=16)
@pytest.mark.parametrize("lengths", [[], [0], [3, 3], [1, 3]], ids=str)
def test_waste_is_a_float_always(student, lengths):
    """0.0 and not 0, where nothing is wasted."""
    expect(student.padding_waste(lengths), float, "the waste")


@task("waste", contract=17)
def test_lengths_are_only_read(student):
    """The list keeps its numbers and their order."""
    lengths = student.watch([2, 4, 3])

    student.padding_waste(lengths)

    assert_unmodified(lengths, "lengths")


# --- Task 4: generate ------------------------------------------------------------------------


class Weigher:
    """A model that says the sum of token * (position + 1) over all that a query sees, modulo V.

    It is lent to your code. As after a softmax over nothing, a row is NaN if a query of it sees
    nothing at all.
    """

    def __init__(self, vocab: int = 97) -> None:
        self.vocab = vocab
        self.shapes: list[list[int]] = []  # of the tokens of each call

    def __call__(self, tokens: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        self.look_at(tokens, positions, mask)
        self.shapes.append([*tokens.shape])
        seen = mask[:, 0]
        weighed = tokens.long() * (positions + 1)
        said = (seen * weighed[:, None, :]).sum(-1) % self.vocab
        logits = one_hot(said, self.vocab).float()
        logits[~seen.any(-1).all(-1)] = torch.nan
        return logits

    def look_at(self, tokens: object, positions: object, mask: object) -> None:
        """Fail the test for what no model could answer."""
        for name, value in {"tokens": tokens, "positions": positions}.items():
            grid = expect(value, Tensor, f"{name}, as the model gets it,")
            integers = grid.dtype in (torch.int32, torch.int64) and grid.dim() == 2
            check(integers, f"the model got {name} {describe(grid)}, expected integers [B, T]")
        ids, places = expect(tokens, Tensor), expect(positions, Tensor)
        shape = [*ids.shape]
        check(0 < ids.numel() < 2000, f"the model got tokens {shape}, expected some, but few")
        known = int(ids.min()) >= 0 and int(ids.max()) < self.vocab
        check(
            known, f"the model got tokens {ids.tolist()}, expected ids from 0 to {self.vocab - 1}"
        )
        size = [*places.shape]
        check(size == shape, f"the model got positions {size}, expected {shape} like its tokens")
        shown = expect(mask, Tensor, "mask, as the model gets it,")
        want = [shape[0], 1, shape[1], shape[1]]
        right = shown.dtype == torch.bool and [*shown.shape] == want
        check(right, f"the model got the mask {describe(shown)}, expected bool {want}")
        check(len(self.shapes) < 60, "the model was called 60 times, expected far fewer calls")


def generate(
    student,
    prompts: object,
    max_new_tokens: int,
    eos_ids: object = (),
    pad_id: int = 96,
    model: Weigher | None = None,
) -> list[list[int]]:
    """Let your generate continue prompts with a Weigher."""
    lent = student.lend(model or Weigher())
    got = student.generate(lent, prompts, max_new_tokens, eos_ids, pad_id)
    return expect(got, list[list[int]])


def assert_calls(model: Weigher, want: int) -> None:
    shapes = ", ".join(map(str, model.shapes)) or "none"
    made = f"the model was called {len(model.shapes)} times (tokens of shape {shapes})"
    check(len(model.shapes) == want, f"{made}, expected {want} calls")


# What a Weigher of 97 tokens says to each of these prompts alone.
THREE = [[3, 1, 4, 1], [4], [60, 2, 5]]
SAID = [[21, 29, 9, 72, 66], [4, 12, 48, 46, 82], [79, 7, 42, 3, 24]]


@task("generate", contract=18)
def test_example_of_generation(student):
    """The example of the handout: a model of ten tokens, EOS ids 0 and 3, padding 9."""
    got = generate(student, [[1, 2], [4]], 6, [0, 3], 9, Weigher(10))

    assert_equal(got, [[5], [4, 2, 8]])


@task("generate", contract=18)
def test_three_rows_are_as_alone(student):
    """Prompts of 4, 1 and 3 tokens: each answer is what the model says to that prompt alone."""
    assert_equal(generate(student, THREE, 5), SAID)


@task("generate", contract=19)
def test_example_takes_four_calls(student):
    """The example of the handout: row 0 ends in call 2, row 1 in call 4."""
    model = Weigher(10)

    generate(student, [[1, 2], [4]], 6, [0, 3], 9, model)

    assert_calls(model, 4)


@task("generate", contract=19)
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_as_many_calls_as_steps(student, steps):
    """Three rows that do not end: a call for each step, of all rows as long as they are by then."""
    model = Weigher()

    got = generate(student, THREE, steps, model=model)

    assert_equal(got, [answer[:steps] for answer in SAID])
    assert_calls(model, steps)


@task("generate", contract=20)
def test_rows_end_one_after_the_other(student):
    """EOS 9 ends row 0 after two tokens, EOS 79 row 2 at once; row 1 goes on to the limit."""
    assert_equal(generate(student, THREE, 5, [9, 79]), [[21, 29], [4, 12, 48, 46, 82], []])


@task("generate", contract=20)
def test_a_row_that_has_ended_stays_ended(student):
    """Row 0 ends at once, row 1 three steps later: what row 0 says meanwhile is nobody's."""
    assert_equal(generate(student, THREE[:2], 5, [21, 46]), [[], [4, 12, 48]])


@task("generate", contract=21)
@pytest.mark.parametrize(
    ("eos_ids", "lengths"),
    [([], (5, 5, 5)), ([9], (2, 5, 5)), ([48, 9, 7], (2, 2, 1)), ((3, 82, 21), (0, 4, 3))],
    ids=str,
)
def test_eos_ids_may_be_none_or_several(student, eos_ids, lengths):
    """Each row goes on to the first of the EOS ids that it says, wherever that is listed."""
    got = generate(student, THREE, 5, eos_ids)

    assert_equal(got, [answer[:n] for answer, n in zip(SAID, lengths, strict=True)])


@task("generate", contract=22)
def test_eos_ids_in_prompts_are_tokens(student):
    """With EOS ids 1, 3, 4 and 5 the prompts are full of them."""
    assert_equal(generate(student, THREE, 3, [1, 3, 5]), [answer[:3] for answer in SAID])
    assert_equal(generate(student, [[9, 9]], 3, [9]), [[27, 11, 55]])


@task("generate", contract=23)
@pytest.mark.parametrize("pad_id", [1, 4, 48, 21, 0])
def test_pad_id_that_is_said_or_asked(student, pad_id):
    """1 and 4 occur in the prompts, 48, 21 and 4 are generated; the answers are the same."""
    assert_equal(generate(student, THREE, 5, [], pad_id), SAID)


@task("generate", contract=23)
def test_padding_with_an_eos_id(student):
    """EOS 46 is the pad_id too, as with many tokenizers: row 1 ends where it says 46."""
    assert_equal(generate(student, THREE, 5, [46], 46), [SAID[0], [4, 12, 48], SAID[2]])


@task("generate", contract=24)
@pytest.mark.parametrize(
    ("eos_ids", "calls"), [([9, 48, 42], 3), ([21, 4, 79], 1), ([29, 46, 79], 4)], ids=str
)
def test_no_call_when_all_have_ended(student, eos_ids, calls):
    """The call in which the last row says its EOS is the last one."""
    model = Weigher()

    generate(student, THREE, 50, eos_ids, model=model)

    assert_calls(model, calls)


@task("generate", contract=25)
@pytest.mark.parametrize("most", [0, 1, 4])
def test_max_new_tokens_bounds_each_row(student, most):
    """Of max_new_tokens 0, 1 and 4 come as many tokens from as many calls."""
    model = Weigher()

    got = generate(student, THREE, most, [24], model=model)

    assert_equal(got, [answer[:most] for answer in SAID])
    assert_calls(model, most)


@task("generate", contract=26)
@pytest.mark.parametrize("order", [(2, 0, 1), (0, 0, 0), (1, 0, 1, 2, 0, 1)], ids=str)
def test_other_places_and_neighbours(student, order):
    """Prompts in another order, or twice in a batch, get the answers that they got before."""
    got = generate(student, [list(THREE[row]) for row in order], 4, [9])

    ended = [SAID[0][:2], SAID[1][:4], SAID[2][:4]]  # row 0 says 9
    assert_equal(got, [ended[row] for row in order])


@task("generate", contract=27)
def test_a_row_by_itself(student):
    """One prompt is a batch too."""
    assert_equal(generate(student, [[3, 1, 4, 1]], 4), [SAID[0][:4]])
    assert_equal(generate(student, [[4]], 4), [SAID[1][:4]])


@task("generate", contract=27)
def test_one_token_among_forty(student):
    """Prompts of 40, 1 and 30 tokens, and eight of equal length."""
    prompts = [[2, 3] * 20, [4], [*range(1, 31)]]
    want = [[23, 93, 22, 95], [4, 12, 48, 46], [46, 17, 76, 62]]
    assert_equal(generate(student, prompts, 4), want)

    equal = [[start] for start in range(1, 9)]  # to n a Weigher says n, and to that 3 * n
    assert_equal(generate(student, equal, 2), [[n, 3 * n] for n in range(1, 9)])


@task("generate", contract=27)
def test_twenty_rows_at_a_time(student):
    """Twenty prompts of one token, which a Weigher repeats, and a single call for them all."""
    model = Weigher()

    got = generate(student, [[start] for start in range(20)], 1, model=model)

    assert_equal(got, [[start] for start in range(20)])
    assert_calls(model, 1)


@task("generate", contract=28)
def test_no_prompts_no_rows(student):
    """Without a prompt there is nothing to call the model for."""
    model = Weigher()

    assert_equal(generate(student, [], 4, [9], model=model), [])
    assert_calls(model, 0)


@task("generate", contract=29)
@pytest.mark.parametrize("prompts", [[[]], [[1, 2], []], [[], [4], [5]]], ids=str)
def test_a_row_without_tokens_is_refused(student, prompts):
    """generate raises a ValueError whose message says prompts."""
    with student.raises(ValueError, naming="prompts"):
        generate(student, prompts, 1)


@task("generate", contract=30)
def test_prompts_do_not_grow(student):
    """After two rows have ended and one has not, all lists hold what they held."""
    prompts, eos_ids = student.watch([list(prompt) for prompt in THREE]), student.watch([9, 79])

    generate(student, prompts, 4, eos_ids)

    assert_unmodified(prompts, "prompts")
    assert_unmodified(eos_ids, "eos_ids")


# --- Task 5: BatchEngine ---------------------------------------------------------------------

SHIPPED = Path(__file__).resolve().parents[1] / "checkpoints" / "target"
ANSWERS = {  # the first seven tokens that the target says to each text alone
    "if __name__ ==": ' "__main__":\n    unittest.',
    "try:\n    import json\nexcept Import": "Error:\n    pass\n\ntry",
    "    def __repr__(self):\n        return ": "()\n\n    def __repr__(self",
}


def shipped(student) -> Folder:
    """The checkpoint of the course: with another one MODEL=path would give other texts."""
    folder = student.checkpoint("target")
    if folder.host.resolve() != SHIPPED:
        raise NotGraded("the texts in this test are those of labs/checkpoints/target")
    return folder


def engine(student, folder: Folder | None = None) -> Proxy:
    path = (folder or shipped(student)).path
    return expect(student.BatchEngine(path), Proxy, "BatchEngine(...)")


def with_eos(student, eos: int | list[int], generation_eos: int | list[int]) -> Folder:
    """The target, with other EOS ids in the two files that name them."""
    source, folder = shipped(student).host, student.new_folder()
    for file in source.iterdir():
        shutil.copyfile(file, folder.host / file.name)
    for name, ids in (("config.json", eos), ("generation_config.json", generation_eos)):
        settings = json.loads((source / name).read_text())
        (folder.host / name).write_text(json.dumps(settings | {"eos_token_id": ids}))
    return folder


@task("engine", contract=31)
def test_three_texts_go_on(student):
    """Texts of 6, 13 and 11 tokens: seven more of each, in their order, the text left out."""
    got = engine(student).execute([*ANSWERS], 7)

    assert_equal(got, [*ANSWERS.values()], "the result of execute")


@task("engine", contract=31)
def test_texts_in_another_order(student):
    """Each text has the answer that it has alone, wherever it stands."""
    texts = [*ANSWERS][::-1]
    model = engine(student)

    assert_equal(model.execute(texts, 7), [ANSWERS[text] for text in texts], "the answers")
    for text in ANSWERS:
        assert_equal(model.execute([text], max_new_tokens=7), [ANSWERS[text]], "the one answer")


@task("engine", contract=32)
def test_nothing_but_a_start(student):
    """To an empty text, which the tokenizer makes one token of, the target says import."""
    model = engine(student)

    assert_equal(model.execute([""], 1), ["import"], "the result of execute")
    got = model.execute(["class Error(", "", "try:\n    import json\nexcept Import"], 1)
    assert_equal(got, ["Exception", "import", "Error"], "the result of execute")


@task("engine", contract=33)
@pytest.mark.parametrize(
    ("eos", "generation_eos", "want"),
    [
        ([915, 1], 595, [' "__main__', "Error:\n   ", "()\n\n    def __repr__(self"]),
        (595, [782, 322], [' "__', "Error:\n   ", "()"]),
        (1, 894, [' "__main__":\n   ', *[*ANSWERS.values()][1:]]),
    ],
    ids=["two of config", "two of generation_config", "the other one"],
)
def test_each_eos_id_of_the_files(student, eos, generation_eos, want):
    """With other EOS ids in config.json and generation_config.json the texts end earlier."""
    got = engine(student, with_eos(student, eos, generation_eos)).execute([*ANSWERS], 7)

    assert_equal(got, want, "the result of execute")


@task("engine", contract=33)
def test_the_targets_own_eos(student):
    """After unittest.main() and a new line the target says EOS, of which no text remains."""
    got = engine(student).execute(["if __name__ ==", "class Error("], 12)

    first = expect(got, list[str], "the result of execute")[:1]
    assert_equal(first, [' "__main__":\n    unittest.main()\n'], "the first answer")


@task("engine", contract=34)
@pytest.mark.parametrize("most", [0, 1, 4])
def test_texts_of_few_tokens(student, most):
    """max_new_tokens 0, 1 and 4: `Error`, `:`, a new line with its spaces, and `pass`."""
    got = engine(student).execute(["try:\n    import json\nexcept Import"], max_new_tokens=most)

    want = {0: "", 1: "Error", 4: "Error:\n    pass"}[most]
    assert_equal(got, [want], "the result of execute")


def one_letter(student) -> Folder:
    """A checkpoint of width 4 that says "a" whatever it reads, and never ends."""
    source, folder = shipped(student).host, student.new_folder()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(source / name, folder.host / name)
    config = json.loads((source / "config.json").read_text())
    config |= {"hidden_size": 4, "intermediate_size": 4, "head_dim": 4, "num_hidden_layers": 1}
    config |= {"num_attention_heads": 1, "num_key_value_heads": 1, "tie_word_embeddings": False}
    config |= {"dtype": "float32", "eos_token_id": []}
    (folder.host / "config.json").write_text(json.dumps(config))
    (folder.host / "generation_config.json").write_text('{"eos_token_id": []}')
    products = [f"self_attn.{name}_proj" for name in "qkvo"]
    products += [f"mlp.{name}_proj" for name in ("gate", "up", "down")]
    weights = {f"model.layers.0.{name}": torch.zeros(4, 4) for name in products}
    norms = ("layers.0.input_layernorm", "layers.0.post_attention_layernorm", "norm")
    weights |= {f"model.{name}": torch.ones(4) for name in norms}
    vocabulary = json.loads((source / "tokenizer.json").read_text())["model"]["vocab"]
    said = one_hot(torch.tensor(vocabulary["a"]), config["vocab_size"]).float()
    weights |= {"model.embed_tokens": torch.ones(len(said), 4)}
    weights |= {"lm_head": said[:, None].repeat(1, 4)}
    file = folder.host / "model.safetensors"
    save_file({f"{name}.weight": weight for name, weight in weights.items()}, file)
    file.chmod(0o644)  # your code may run as another user
    return folder


@task("engine", contract=34)
def test_unless_said_128_tokens(student):
    """Of a model that goes on with a, a, a, ... the answer is 128 of them; asked for 9 it is 9."""
    model = engine(student, one_letter(student))

    assert_equal(model.execute(["x = "]), ["a" * 128], "the result of execute")
    assert_equal(model.execute(["x = "], 9), ["a" * 9], "the result of execute for 9 tokens")


@task("engine", contract=35)
def test_texts_go_through_the_model_together(student):
    """Of ten texts of 6 tokens each the logits of one forward pass are [10, 6, 2048]."""
    model = engine(student)

    with student.largest_tensor() as largest:
        model.execute([f"def f{n}(x" for n in range(10)], 1)

    alone = 6 * 2048  # the logits of one of them
    say = f"the largest tensor of the call has {largest.elements} elements"
    check(largest.elements >= 10 * alone, f"{say}, expected 10 * {alone} or more, for all texts")


@task("engine", contract=36)
def test_no_texts_no_answers(student):
    """The answer to an empty list is one."""
    assert_equal(engine(student).execute([]), [], "the result of execute")


@task("engine", contract=37)
def test_texts_are_only_read(student):
    """The list of the texts holds what it held, in its order."""
    model, texts = engine(student), student.watch(["class Error(", "x", "import os\n"])

    model.execute(texts, 1)

    assert_unmodified(texts, "prompts")
