"""Public tests of lab 03: the examples of the handout and a few more, by the handout's numbers."""

import math
from collections import Counter

import pytest
import torch
from torch import Tensor

from grader.suite import (
    assert_close,
    assert_equal,
    assert_new,
    assert_unmodified,
    check,
    describe,
    expect,
    task,
)

INF = math.inf
EXAMPLE = torch.tensor([[0.0, 2.0, 1.0, 2.0, -1.0]])  # the row of the handout
LOW = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["half", "bfloat16"])


def row(*logits: float) -> Tensor:
    return torch.tensor([logits], dtype=torch.float32)


# --- Task 1: filters -------------------------------------------------------------------------


@task("filters", contract=1)
@pytest.mark.parametrize(
    ("t", "want"), [(2.0, row(0, 1, 0.5, 1, -0.5)), (0.5, row(0, 4, 2, 4, -2))]
)
def test_temperature_divides(student, t, want):
    """temperature divides every logit by t."""
    assert_close(student.temperature(EXAMPLE, t), want, "elementwise", dtype=torch.float32)


@task("filters", contract=1)
@pytest.mark.parametrize("t", [1e-6, 0.004, 0.02, 30.0, 1e6])
def test_any_temperature_will_do(student, t):
    """5 t divided by t is 5, for the smallest t and the largest."""
    got = student.temperature(row(5 * t, -t, 0, 2 * t), t)

    assert_close(got, row(5, -1, 0, 2), "elementwise", dtype=torch.float32)


@task("filters", contract=2)
@pytest.mark.parametrize(
    ("k", "want"),
    [
        (1, [[-INF, -INF, 7.0, -INF], [-INF, 2.0, -INF, -INF]]),
        (2, [[3.0, -INF, 7.0, -INF], [-INF, 2.0, -INF, 0.0]]),
        (4, [[3.0, 1.0, 7.0, 2.0], [-5.0, 2.0, -1.0, 0.0]]),
        (9, [[3.0, 1.0, 7.0, 2.0], [-5.0, 2.0, -1.0, 0.0]]),
    ],
)
def test_top_k_keeps_the_largest(student, k, want):
    """top_k keeps the k largest of each row where they are; k >= V keeps all."""
    logits = torch.tensor([[3.0, 1.0, 7.0, 2.0], [-5.0, 2.0, -1.0, 0.0]])

    assert_equal(student.top_k(logits, k), torch.tensor(want))


@task("filters", contract=2)
def test_top_k_of_two_thousand(student):
    """Of 3000 logits, from 3000 down to 1, k = 2000 leaves those above 1000."""
    falling = torch.arange(3000.0, 0.0, -1.0)[None]

    assert_equal(student.top_k(falling, 2000), falling.masked_fill(falling <= 1000, -INF))


@task("filters", contract=3)
def test_top_k_of_equal_logits(student):
    """Of equal logits those with the lower id stay: of 100 zeros the first 30."""
    assert_equal(student.top_k(EXAMPLE, 1), row(-INF, 2, -INF, -INF, -INF))

    want = row(*[0.0] * 30, *[-INF] * 70)
    assert_equal(student.top_k(torch.zeros(1, 100), 30), want, "the result for 100 zeros")


@task("filters", contract=4)
@pytest.mark.parametrize(
    ("p", "kept"), [(0.05, [1]), (0.45, [1]), (0.6, [1, 3]), (0.85, [0, 1, 3]), (1.0, [0, 1, 2, 3])]
)
def test_top_p_includes_the_token_that_crosses(student, p, kept):
    """Of probabilities .15 .5 .05 .3 those are kept that are needed to hold p."""
    logits = row(0.15, 0.5, 0.05, 0.3).log()

    want = torch.full((1, 4), -INF)
    want[0, kept] = logits[0, kept]
    assert_equal(student.top_p(logits, p), want)


@task("filters", contract=4)
def test_top_p_of_one_keeps_the_hopeless_too(student):
    """p = 1 keeps every token, also those whose probability is 0 in float32."""
    assert_equal(student.top_p(row(0, 300, -300, 1), 1.0), row(0, 300, -300, 1))


@task("filters", contract=4)
@pytest.mark.parametrize("p", [1e-12, 1e-6])
def test_top_p_of_almost_nothing(student, p):
    """However small p is, the best token stays: it is the one that crosses p."""
    assert_equal(student.top_p(EXAMPLE, p), row(-INF, 2, -INF, -INF, -INF))
    assert_equal(student.top_p(row(1, 0, 2), p), row(-INF, -INF, 2))


@task("filters", contract=5)
def test_top_p_of_equal_logits(student):
    """Equal logits count one by one, the lower id first: .305 of 100 equal ones are 31."""
    assert_equal(student.top_p(EXAMPLE, 0.3), row(-INF, 2, -INF, -INF, -INF))
    assert_equal(student.top_p(EXAMPLE, 0.7), row(-INF, 2, -INF, 2, -INF))

    want = row(*[0.0] * 31, *[-INF] * 69)
    assert_equal(student.top_p(torch.zeros(1, 100), 0.305), want, "the result for 100 zeros")


@task("filters", contract=6)
@pytest.mark.parametrize(
    ("p", "kept"), [(0.0, [0, 1, 2, 3]), (0.2, [0, 1, 3]), (0.5, [1, 3]), (0.7, [1]), (1.0, [1])]
)
def test_min_p_compares_with_the_best(student, p, kept):
    """Of probabilities .15 .5 .05 .3 those are kept that are p times .5 or more."""
    logits = row(0.15, 0.5, 0.05, 0.3).log()

    want = torch.full((1, 4), -INF)
    want[0, kept] = logits[0, kept]
    assert_equal(student.min_p(logits, p), want)


@task("filters", contract=6)
def test_min_p_at_its_ends(student):
    """p = 1 keeps all that equal the best, p = 0 keeps even what float32 gives probability 0."""
    assert_equal(student.min_p(EXAMPLE, 1.0), row(-INF, 2, -INF, 2, -INF))
    assert_equal(student.min_p(row(0, 300, -300, 1), 0.0), row(0, 300, -300, 1))


@task("filters", contract=7)
def test_penalty_follows_the_sign(student):
    """Said ids become less likely once, on either side of 0; each row has a history of its own."""
    got = student.repetition_penalty(EXAMPLE, [[4, 1, 1]], 2.0)
    assert_close(got, row(0, 1, 1, 2, -2), "elementwise", dtype=torch.float32)

    logits = torch.tensor([[3.0, -2.0, 1.0], [3.0, -2.0, 1.0], [-3.0, 2.0, -1.0]])
    want = torch.tensor([[3.0, -2.0, 1.0], [2.0, -3.0, 1.0], [-3.0, 2.0, -1.5]])
    got = student.repetition_penalty(logits, [[], [1, 0, 1, 1], [2, 2]], 1.5)
    assert_close(got, want, "elementwise", dtype=torch.float32, what="the result for three rows")


@task("filters", contract=8)
@LOW
def test_probabilities_have_float32s_precision(student, dtype):
    """Sums of 1000 small numbers, and probabilities that almost meet, are told apart."""
    want = torch.full((1, 1000), -INF, dtype=dtype)
    want[:, :501] = 0.0
    assert_equal(student.top_p(torch.zeros(1, 1000, dtype=dtype), 0.5005), want, "top_p of zeros")

    logits = -torch.arange(256.0)[None].to(dtype) / 256  # each is exact in float16 and bfloat16
    for kept in (30, 77, 128, 201):
        want = logits.clone()
        want[:, kept:] = -INF
        got = student.min_p(logits, math.exp(-(kept - 0.5) / 256))
        assert_equal(got, want, f"min_p where {kept} tokens are likely enough")


@task("filters", contract=8)
@LOW
@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p", "repetition_penalty"])
def test_filters_keep_the_dtype(student, name, dtype):
    """The result has the dtype of the logits, and is that for float32 but for one rounding."""
    args = {"temperature": 1.6, "top_k": 2, "repetition_penalty": [[4, 1, 1]]}.get(name, 0.7)
    more = (1.3,) if name == "repetition_penalty" else ()

    exact = expect(getattr(student, name)(EXAMPLE, args, *more), Tensor, "the result for float32")

    got = getattr(student, name)(EXAMPLE.to(dtype), args, *more)
    assert_close(got, exact, "elementwise", dtype=dtype)


BATCH = torch.tensor(
    [[0.0, 2.0, 1.0, 2.5, -1.0], [9.0, 0.0, 0.5, 4.0, 1.0], [0.1, 0.0, 0.3, 0.2, 0.4]]
)


@task("filters", contract=9)
@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p"])
def test_row_of_a_batch_is_as_alone(student, name):
    """Each row comes out of a batch as it does alone."""
    number = {"temperature": 1.6, "top_k": 2}.get(name, 0.65)

    together = getattr(student, name)(BATCH, number)

    alone = [getattr(student, name)(BATCH[b : b + 1], number) for b in range(3)]
    each = [expect(one, Tensor, "the result for one row", shape=(1, 5)) for one in alone]
    assert_close(together, torch.cat(each), "elementwise", dtype=torch.float32)


@task("filters", contract=10)
@pytest.mark.parametrize("shift", [1000.0, -1000.0])
@pytest.mark.parametrize("name", ["top_p", "min_p"])
def test_shift_changes_no_probability(student, name, shift):
    """What is added to all logits changes nothing, even if exp of it is 0 or infinite."""
    logits = row(0.0, 2.0, 1.0, 2.5, -1.0)

    kept = expect(getattr(student, name)(logits, 0.5), Tensor, "the result without a shift")

    assert_equal(getattr(student, name)(logits + shift, 0.5), kept + shift)


@task("filters", contract=11)
@pytest.mark.parametrize(
    ("name", "args", "want"),
    [
        ("temperature", (2.0,), [-INF, 1.0, -INF, 0.5, 0.0]),
        ("top_k", (2,), [-INF, 2.0, -INF, 1.0, -INF]),
        ("top_k", (4,), [-INF, 2.0, -INF, 1.0, 0.0]),
        ("top_p", (0.8,), [-INF, 2.0, -INF, 1.0, -INF]),
        ("top_p", (1.0,), [-INF, 2.0, -INF, 1.0, 0.0]),
        ("min_p", (0.2,), [-INF, 2.0, -INF, 1.0, -INF]),
        ("min_p", (0.0,), [-INF, 2.0, -INF, 1.0, 0.0]),
        ("repetition_penalty", ([[0, 3]], 2.0), [-INF, 2.0, -INF, 0.5, 0.0]),
    ],
)
def test_removed_tokens_stay_removed(student, name, args, want):
    """What another filter has set to -inf stays so; what this one removes becomes -inf."""
    got = getattr(student, name)(row(-INF, 2, -INF, 1, 0), *args)

    assert_close(got, row(*want), "elementwise", dtype=torch.float32)


@task("filters", contract=12)
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("temperature", (1.0,)),
        ("temperature", (3.0,)),
        ("top_k", (2,)),
        ("top_k", (5,)),
        ("top_p", (0.6,)),
        ("top_p", (1.0,)),
        ("min_p", (0.4,)),
        ("min_p", (0.0,)),
        ("repetition_penalty", ([[0], [1], [1, 2]], 1.5)),
        ("repetition_penalty", ([[0], [1], [1, 2]], 1.0)),
        ("repetition_penalty", ([[], [], []], 1.5)),
    ],
)
def test_result_is_new(student, name, args):
    """The logits stay as they were, and writing to the result changes nothing in them."""
    logits = student.watch(BATCH)

    student.overwritten(name, logits, *args)

    assert_new(logits, "logits")


@task("filters", contract=12)
def test_view_gives_what_its_copy_gives(student):
    """Logits may be a view, such as each second column; what lies between stays as it was."""
    view = torch.cat([BATCH, BATCH], dim=1)[:, 1::2]

    for name, number in (("temperature", 2.0), ("top_k", 3), ("top_p", 0.7), ("min_p", 0.2)):
        watched = student.watch(view)
        got = expect(getattr(student, name)(watched, number), Tensor)
        assert_equal(got, getattr(student, name)(view.contiguous(), number), f"{name} of a view")
        assert_unmodified(watched, "logits")


@task("filters", contract=13)
@pytest.mark.parametrize(
    ("name", "argument", "number"),
    [
        ("temperature", "t", 0.0),
        ("temperature", "t", -1.0),
        ("top_k", "k", 0),
        ("top_p", "p", 0.0),
        ("top_p", "p", 1.1),
        ("min_p", "p", -0.1),
        ("min_p", "p", 1.1),
    ],
)
def test_number_out_of_range_is_refused(student, name, argument, number):
    """A t, k or p outside its range is a ValueError that names it."""
    with student.raises(ValueError, naming=argument):
        getattr(student, name)(EXAMPLE, number)


@task("filters", contract=14)
@pytest.mark.parametrize("token", [5, -1])
def test_unknown_id_is_refused(student, token):
    """Ids of a vocabulary of 5 are 0 to 4."""
    with student.raises(ValueError, naming="history"):
        student.repetition_penalty(EXAMPLE, [[2, token]], 1.5)


# --- Task 2: sampler -------------------------------------------------------------------------

FLAT = torch.zeros(64, 10)  # 64 rows of ten equal chances: two draws agree once in 10**64


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def ids(tokens: object) -> list[int]:
    """The tokens of a sampler, which returns int64 [B]."""
    drawn = expect(tokens, Tensor, "the tokens")
    right = drawn.dtype == torch.int64 and drawn.dim() == 1
    check(right, f"the tokens are {describe(drawn)}, expected int64 [B]")
    return drawn.tolist()


@task("sampler", contract=15)
def test_draws_follow_the_softmax(student):
    """Tokens come as often as their probabilities say, each row's own."""
    chances = torch.tensor([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])

    tokens = ids(student.Sampler()(chances.log().repeat(10_000, 1), seeded(1)))

    for b in (0, 1):
        counts = Counter(tokens[b::2])
        for token in range(3):
            want = 10_000 * chances[b, token].item()
            near = abs(counts[token] - want) < 350  # seven standard deviations
            say = f"row {b} drew token {token} {counts[token]} times in 10000"
            check(near, f"{say}, expected about {want:.0f}")


@task("sampler", contract=16)
@LOW
def test_low_precision_reaches_every_token(student, dtype):
    """Of 512 equal chances nearly all come in 4096 draws, whatever the dtype of the logits."""
    tokens = ids(student.Sampler()(torch.zeros(4096, 512, dtype=dtype), seeded(2)))

    different = len(set(tokens))
    check(different > 490, f"{different} different tokens came, expected about 512")


@task("sampler", contract=17)
def test_all_but_the_removed_can_come(student):
    """Of 512 tokens half are removed: none of them is drawn, and nearly all the others are."""
    logits = torch.zeros(4096, 512)
    logits[:, ::2] = -INF

    tokens = ids(student.Sampler()(logits, seeded(3)))

    removed = [token for token in tokens if token % 2 == 0]
    check(not removed, f"{len(removed)} removed tokens were drawn, expected 0")
    different = len(set(tokens))
    check(different > 240, f"{different} different tokens came, expected about 256")


@task("sampler", contract=17)
@pytest.mark.parametrize("vocab", [7, 70_000])
def test_last_token_of_a_view(student, vocab):
    """The last of many tokens is the only one left, in rows that have strangers behind them."""
    base = torch.full((3, vocab + 2), -INF)
    base[:, -3:] = torch.tensor([1.0, 50.0, 50.0])

    tokens = ids(student.Sampler()(base[:, :vocab], seeded(5)))

    assert_equal(tokens, [vocab - 1] * 3, "the list of the tokens")


def without_the_best(logits: Tensor) -> Tensor:
    """A filter that you have never seen."""
    return logits.scatter(-1, logits.argmax(-1, keepdim=True), -INF)


def only_the_best(logits: Tensor) -> Tensor:
    """And another: what it gets has one largest logit in each row."""
    best = logits.argmax(-1, keepdim=True)
    return torch.full_like(logits, -INF).scatter(-1, best, 0.0)


@task("sampler", contract=18)
def test_filters_apply_in_order(student):
    """Without the best, the best of the others is the second best."""
    logits = torch.tensor([[0.0, 3.0, 1.0], [5.0, 2.0, 4.0], [1.0, 2.0, 3.0]])
    filters = [student.lend(each, keep=True) for each in (without_the_best, only_the_best)]

    got = ids(student.Sampler(*filters)(logits))

    assert_equal(got, [2, 2, 1], "the list of the tokens")


@task("sampler", contract=19)
def test_equal_rows_draw_independently(student):
    """Of 800 equal rows neighbours agree as often as chance has it, once in ten times."""
    tokens = ids(student.Sampler()(torch.zeros(800, 10), seeded(4)))

    same = sum(a == b for a, b in zip(tokens[::2], tokens[1::2], strict=True))
    check(5 <= same <= 85, f"{same} of 400 pairs drew the same token, expected about 40")


@task("sampler", contract=20)
def test_equal_seeds_give_equal_tokens(student):
    """The seed decides, from whichever sampler."""
    sampler, other = student.Sampler(), student.Sampler()

    first = ids(sampler(FLAT, seeded(7)))
    different = ids(sampler(FLAT, seeded(8)))

    check(different != first, f"seeds 7 and 8 both gave {first[:5]}..., expected other tokens")
    assert_equal(ids(sampler(FLAT, seeded(7))), first, "the list of the tokens of seed 7")
    assert_equal(ids(other(FLAT, generator=seeded(7))), first, "the list of another sampler")


@task("sampler", contract=21)
def test_generator_goes_on(student):
    """Two draws from one generator differ; a generator of the same seed repeats both."""
    sampler = student.Sampler()
    one, another = student.generator(7), student.generator(7)

    first, second = ids(sampler(FLAT, one)), ids(sampler(FLAT, one))

    check(second != first, f"both draws gave {first[:5]}..., expected other tokens in the second")
    again = [ids(sampler(FLAT, another)), ids(sampler(FLAT, another))]
    assert_equal(again, [first, second], "the list of draws from another generator of that seed")


@task("sampler", contract=22)
def test_global_generator_goes_on(student):
    """Without a generator each call draws anew, also after calls that have one."""
    sampler = student.Sampler()

    draws = []
    for _ in range(2):
        draws.append(ids(sampler(FLAT)))
        sampler(FLAT, seeded(7))
        draws.append(ids(sampler(FLAT)))

    for i in range(4):
        for j in range(i):
            say = f"calls {j} and {i} without a generator both gave {draws[i][:5]}..."
            check(draws[i] != draws[j], f"{say}, expected other tokens")


@task("sampler", contract=23)
def test_greedy_takes_the_best_and_draws_nothing(student):
    """The id of the largest logit; the generator gives afterwards what a new one gives."""
    used = student.generator(7)

    got = ids(student.Sampler(greedy=True)(torch.tensor([[0.0, 3.0, 1.0], [5.0, 2.0, 4.0]]), used))

    assert_equal(got, [1, 0], "the list of the tokens")
    sampler = student.Sampler()
    drawn = ids(sampler(FLAT, used))
    assert_equal(
        drawn, ids(sampler(FLAT, seeded(7))), "what the generator gives after a greedy call"
    )


@task("sampler", contract=24)
def test_greedy_with_filters_is_refused(student):
    """A greedy sampler with a filter is refused when it is made, not when it is called."""
    with student.raises(ValueError):
        student.Sampler(student.lend(only_the_best, keep=True), greedy=True)


@task("sampler", contract=25)
def test_samplers_share_nothing(student):
    """A second sampler changes nothing of the first, and the logits stay as they were."""
    logits = torch.tensor([[0.0, 3.0, 1.0], [5.0, 2.0, 4.0], [1.0, 2.0, 3.0]])
    best = student.Sampler(student.lend(only_the_best, keep=True))
    filters = [student.lend(each, keep=True) for each in (without_the_best, only_the_best)]
    second_best = student.Sampler(*filters)

    for _ in range(2):
        watched = student.watch(logits)
        assert_equal(ids(best(watched)), [1, 0, 2], "the list of the first sampler")
        assert_unmodified(watched, "logits")
        assert_equal(ids(second_best(logits)), [2, 2, 1], "the list of the second sampler")


# --- Task 3: beam ----------------------------------------------------------------------------


class Model:
    """A model that knows probabilities: what may follow the prompt and the tokens after it.

    What its table does not list is answered with equal chances. It is lent to your code.
    """

    def __init__(
        self,
        table: dict[tuple[int, ...], list[float]],
        prompt: tuple[int, ...] = (1,),
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.logits = {tokens: torch.tensor(chances).log() for tokens, chances in table.items()}
        self.prompt = prompt
        self.dtype = dtype

    def __call__(self, tokens: Tensor) -> Tensor:
        expect(tokens, Tensor, "what the model is given")
        integers = tokens.dtype in (torch.int32, torch.int64) and tokens.dim() == 2
        check(integers, f"the model was given {describe(tokens)}, expected integers [B, T]")
        few = 0 < tokens.numel() < 1000
        check(few, f"the model was given {list(tokens.shape)} tokens, expected some, but few")
        return torch.stack([self.answer(tuple(each)) for each in tokens.tolist()]).to(self.dtype)

    def answer(self, tokens: tuple[int, ...]) -> Tensor:
        start, new = tokens[: len(self.prompt)], tokens[len(self.prompt) :]
        say = f"a row that the model is given starts with {list(start)}"
        check(start == self.prompt, f"{say}, expected the prompt {list(self.prompt)}")
        return self.logits.get(new, torch.zeros(len(self.logits[()])))


HANDOUT = {  # EOS is 0
    (): [0.2, 0.5, 0.3],
    (1,): [0.3, 0.36, 0.34],
    (2,): [0.9, 0.06, 0.04],
    (1, 1): [0.2, 0.7, 0.1],
}


def assert_beams(got: object, want: list[tuple[list[int], float]]) -> None:
    """Compare tokens exactly, and scores to about four digits."""
    found = expect(got, list[tuple[list[int], float]], "the list of beams")
    say = f"the beams are {[tokens for tokens, _ in found]}, expected {[x for x, _ in want]}"
    check([tokens for tokens, _ in found] == [tokens for tokens, _ in want], say)
    for (tokens, score), (_, right) in zip(found, want, strict=True):
        near = abs(score - right) < 1e-4 * max(1.0, abs(right))
        check(near, f"the score of {tokens} is {score:.5f}, expected {right:.5f}")


@task("beam", contract=26)
def test_best_of_each_step_are_kept(student):
    """The search of the handout, with one beam (greedy search), with two, and with three."""
    model = student.lend(Model(HANDOUT), keep=True)
    eighth, ninth = math.log(0.18) / 2, math.log(0.17) / 2

    one = student.beam_search(model, [1], 1, 2, 0)
    two = student.beam_search(model, [1], 2, 2, 0)
    three = student.beam_search(model, [1], 3, 2, 0)

    want = [([2, 0], math.log(0.27) / 2), ([1, 1], eighth), ([1, 2], ninth)]
    assert_beams(one, want[1:2])
    assert_beams(two, want[:2])
    assert_beams(three, want)


@task("beam", contract=27)
@pytest.mark.parametrize("penalty", [1.0, 2.0, 0.0])
@pytest.mark.parametrize("prompt", [(1,), (2, 2, 1, 2)], ids=["short prompt", "longer prompt"])
def test_length_enters_the_score(student, penalty, prompt):
    """The example of the handout: length 3 for `1 1 1`, length 2 for `2 0`, EOS included."""
    model = student.lend(Model(HANDOUT, prompt), keep=True)

    got = student.beam_search(model, list(prompt), 2, 3, 0, penalty)

    short, long = ([2, 0], math.log(0.27) / 2**penalty), ([1, 1, 1], math.log(0.126) / 3**penalty)
    assert_beams(got, sorted([short, long], key=lambda beam: -beam[1]))
    if penalty == 1.0:
        assert_beams(student.beam_search(model, list(prompt), 2, 3, 0), [short, long])


@task("beam", contract=28)
def test_all_kept_beams_are_returned(student):
    """With room for all there are seven sequences of up to two tokens; the best comes first."""
    got = student.beam_search(student.lend(Model(HANDOUT)), [1], 40, 2, 0)

    chances = {(2, 0): 0.27, (1, 1): 0.18, (1, 2): 0.17, (1, 0): 0.15, (0,): 0.2}
    chances |= {(2, 1): 0.018, (2, 2): 0.012}
    assert_beams(got, [(list(t), math.log(x) / len(t)) for t, x in chances.items()])


@task("beam", contract=29)
def test_finished_beams_compete_with_live_ones(student):
    """EOS alone is finished after one step. By sums it stays the second of three, unextended."""
    got = student.beam_search(student.lend(Model(HANDOUT)), [1], 3, 2, 0, 0.0)

    assert_beams(got, [([2, 0], math.log(0.27)), ([0], math.log(0.2)), ([1, 1], math.log(0.18))])


@task("beam", contract=30)
def test_finished_beam_loses_its_slot(student):
    """EOS alone, of score log .2, was the third best of step 1, and is the fifth best of step 2."""
    model = student.lend(Model(HANDOUT), keep=True)
    first = [([1], math.log(0.5)), ([2], math.log(0.3)), ([0], math.log(0.2))]
    second = [([2, 0], math.log(0.27) / 2), ([1, 1], math.log(0.18) / 2)]
    second.append(([1, 2], math.log(0.17) / 2))

    assert_beams(student.beam_search(model, [1], 3, 1, 0), first)
    assert_beams(student.beam_search(model, [1], 3, 2, 0), second)


SOON = {  # EOS is 0
    (): [0.6, 0.3, 0.1],
    (1,): [0.9, 0.06, 0.04],
}


@task("beam", contract=31)
def test_search_ends_when_all_beams_are_finished(student):
    """`0` has ended after one step, `1 0` after two: the search goes on for it, and no further."""
    got = student.beam_search(student.lend(Model(SOON)), [1], 2, 1000, 0)

    assert_beams(got, [([0], math.log(0.6)), ([1, 0], math.log(0.27) / 2)])


@task("beam", contract=32)
@pytest.mark.parametrize("steps", [1, 2])
def test_impossible_beams_are_not_kept(student, steps):
    """Two of three tokens can come, then one of three: the other slots stay free."""
    table = {(): [0.6, 0.4, 0.0], (0,): [1.0, 0.0, 0.0], (1,): [0.0, 0.0, 1.0]}

    got = student.beam_search(student.lend(Model(table)), [1], 4, steps, 2)

    first = [([0], math.log(0.6)), ([1], math.log(0.4))]
    second = [([0, 0], math.log(0.6) / 2), ([1, 2], math.log(0.4) / 2)]
    assert_beams(got, first if steps == 1 else second)


@task("beam", contract=33)
def test_first_step_starts_from_one_beam(student):
    """Five beams after one step: there are three different ones, not five."""
    got = student.beam_search(student.lend(Model(HANDOUT)), [1], 5, 1, 0)

    assert_beams(got, [([1], math.log(0.5)), ([2], math.log(0.3)), ([0], math.log(0.2))])


@task("beam", contract=34)
def test_no_step_gives_the_empty_beam(student):
    """max_new_tokens = 0 gives one beam without tokens, of score 0.0."""
    got = student.beam_search(student.lend(Model(HANDOUT)), [1], 2, 0, 0)

    assert_beams(got, [([], 0.0)])


@task("beam", contract=35)
def test_eos_in_the_prompt_ends_nothing(student):
    """With EOS 1 the prompt `1` is full of it; the list stays as it was."""
    prompt = student.watch([1])

    got = student.beam_search(student.lend(Model(HANDOUT)), prompt, 2, 2, 1)

    assert_beams(got, [([2, 0], math.log(0.27) / 2), ([1], math.log(0.5))])
    assert_unmodified(prompt, "prompt")


@task("beam", contract=36)
@LOW
def test_sums_have_float32s_precision(student, dtype):
    """Logits 0, -1, -2 are exact in every dtype; the best of four steps is four times the same."""
    chances = torch.tensor([0.0, -1.0, -2.0]).exp().tolist()  # the model takes their logarithms
    table = {(2,) * length: chances[::-1] for length in range(4)}

    got = student.beam_search(student.lend(Model(table, dtype=dtype)), [1], 1, 4, 0)

    assert_beams(got, [([2, 2, 2, 2], -math.log(1 + math.exp(-1) + math.exp(-2)))])


@task("beam", contract=37)
def test_tiny_probabilities_count(student):
    """Log-probabilities of 0, -200 and -300: float32 has no e**-200, but its logarithm."""
    model = Model({(): [1.0, 1.0, 1.0]})
    model.logits[()] = torch.tensor([-200.0, 0.0, -300.0])

    got = student.beam_search(student.lend(model), [1], 3, 1, 0)

    assert_beams(got, [([1], 0.0), ([0], -200.0), ([2], -300.0)])
