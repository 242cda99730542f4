"""Public tests of lab 10: the examples of the handout and more, one or several for each contract.

Both models of a generation belong to the test, so each call of theirs is seen. Where chance
decides seeds are fixed, and bounds so wide that right code is outside less than once in 10**6.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from grader.suite import (
    Folder,
    NotGraded,
    Proxy,
    assert_equal,
    assert_unmodified,
    check,
    expect,
    task,
)

INF = math.inf

# --- Task 1: greedy --------------------------------------------------------------------------


def saying(*best: int) -> Tensor:
    """Logits of a vocabulary of 6, with these best tokens."""
    return torch.eye(6)[list(best)]


EXAMPLE = saying(4, 1, 2, 5)


@task("greedy", contract=1)
@pytest.mark.parametrize(
    ("guesses", "emitted"),
    [([4, 3, 2], [4, 1]), ([4, 1, 3], [4, 1, 2]), ([0, 0, 0], [4])],
    ids=str,
)
def test_guesses_up_to_the_first_wrong_one(student, guesses, emitted):
    """The example of the handout, with the first wrong guess in each place."""
    assert_equal(student.accept_greedy(guesses, EXAMPLE), emitted)


@task("greedy", contract=2)
@pytest.mark.parametrize(
    ("guesses", "emitted"), [([1, 2, 5], [4]), ([4, 4, 1], [4, 1]), ([4, 2, 2], [4, 1])], ids=str
)
def test_each_guess_has_its_row(student, guesses, emitted):
    """Guesses that the rows in front of theirs or behind would have liked are wrong."""
    assert_equal(student.accept_greedy(guesses, EXAMPLE), emitted)


@task("greedy", contract=3)
@pytest.mark.parametrize(("guesses", "emitted"), [([3, 1, 2], [4]), ([4, 0, 2], [4, 1])], ids=str)
def test_right_guess_behind_a_wrong_one(student, guesses, emitted):
    """One guess is wrong, those behind it are what the target says: they are dropped."""
    assert_equal(student.accept_greedy(guesses, EXAMPLE), emitted)


@task("greedy", contract=4)
def test_all_guesses_right(student):
    """The last row is a token for free."""
    assert_equal(student.accept_greedy([4, 1, 2], EXAMPLE), [4, 1, 2, 5])
    assert_equal(student.accept_greedy([4], EXAMPLE[:2]), [4, 1])


@task("greedy", contract=5)
def test_no_guesses_one_row(student):
    """Without guesses the target speaks."""
    assert_equal(student.accept_greedy([], EXAMPLE[:1]), [4])


@task("greedy", contract=6)
def test_close_second_is_wrong(student):
    """1 and 1 + 2**-10 are the same in bfloat16, and different in float32."""
    close = torch.tensor([[0.0, 1.0, 1 + 2**-10], [1 + 2**-10, 1.0, 0.0]])

    assert_equal(student.accept_greedy([1], close), [2])
    assert_equal(student.accept_greedy([2], close), [2, 0])


@task("greedy", contract=7)
@pytest.mark.parametrize("size", [-500.0, 500.0, 1e6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_logits_of_any_dtype_and_size(student, dtype, size):
    """Columns of a larger tensor; of what is not best each second logit is -inf."""
    size = min(size, 2e4) if dtype == torch.float16 else size
    whole = torch.full((6, 7), size, dtype=dtype)
    whole[::2] = -INF
    whole[[4, 1, 2, 5], [0, 1, 2, 3]] = size + abs(size)

    assert_equal(student.accept_greedy([4, 1, 0], whole.T[:4]), [4, 1, 2])


@task("greedy", contract=8)
@pytest.mark.parametrize("guesses", [[4, 1, 2], [4, 3, 2], [3, 1, 2]], ids=str)
def test_greedy_changes_nothing(student, guesses):
    """List and logits are as before the call."""
    draft, logits = student.watch(guesses), student.watch(EXAMPLE)

    expect(student.accept_greedy(draft, logits), list[int])

    assert_unmodified(draft, "draft")
    assert_unmodified(logits, "target_logits")


# --- Task 2: sample --------------------------------------------------------------------------


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def emitted(student, draft: list[int], q: Tensor, p: Tensor, seed: int | None) -> tuple[int, ...]:
    """One call of accept_sample; without a seed it has no generator."""
    got = student.accept_sample(draft, q, p, None if seed is None else seeded(seed))
    return tuple(expect(got, list[int], "the tokens to emit"))


def emitted_often(
    student, times: int, draft: list[int], q: Tensor, p: Tensor
) -> Counter[tuple[int, ...]]:
    """Count what comes out for seeds 0, 1, 2, …"""
    return Counter(emitted(student, draft, q, p, seed) for seed in range(times))


Chances = dict[tuple[int, ...], float]


def assert_shares(found: Counter[tuple[int, ...]], chances: Chances) -> None:
    """Each outcome comes as often as its chance says, within 5.5 standard deviations and 2."""
    times = found.total()
    for outcome in found:
        check(chances.get(outcome, 0) > 0, f"{[*outcome]} came out, which has probability 0")
    for outcome, chance in chances.items():
        count, want = found[outcome], times * chance
        near = abs(count - want) <= 5.5 * math.sqrt(want * (1 - chance)) + 2
        say = f"{[*outcome]} came out {count} times in {times}"
        check(near, f"{say}, expected about {want:.0f}")


# Guess 0 of the handout stays in half of the cases.
Q, P = torch.tensor([[0.8, 0.2, 0.0]]), torch.tensor([[0.4, 0.2, 0.4], [0.0, 1.0, 0.0]])


@task("sample", contract=9)
def test_guess_of_the_handout_stays_half_of_the_time(student):
    """It has q 0.8 and p 0.4."""
    found = emitted_often(student, 400, [0], Q, P)

    stays = sum(count for outcome, count in found.items() if len(outcome) == 2)
    check(abs(stays - 200) <= 60, f"guess 0 stayed in {stays} of 400 calls, expected about 200")


@task("sample", contract=9)
def test_guess_that_seldom_goes(student):
    """Of 400 guesses each goes once in 512 times: in half of the calls one of them does."""
    seldom = 1 / 512
    q, p = torch.tensor([[1.0, 0.0]] * 400), torch.tensor([[1 - seldom, seldom]] * 401)

    full = sum(len(emitted(student, [0] * 400, q, p, seed)) == 401 for seed in range(20))

    check(full < 20, f"in {full} of 20 calls all 400 guesses stayed, expected about 9")


@task("sample", contract=10)
def test_guess_that_the_target_likes_stays(student):
    """Guess 1 of the handout has q = p, and token 2 of the others has q < p."""
    many = torch.tensor([[0.5, 0.3, 0.2]] * 8), torch.tensor([[0.3, 0.3, 0.4]] * 9)

    for seed in range(20):
        kept = emitted(student, [1], Q, P, seed)
        check(len(kept) == 2, f"{[*kept]} came out with seed {seed}, expected [1, 1]")
        kept = emitted(student, [2, 1] * 4, *many, seed)
        check(
            len(kept) == 9, f"{[*kept]} came out with seed {seed}, expected all 8 guesses and one"
        )


@task("sample", contract=10)
def test_rare_guess_stays(student):
    """80 guesses with q = p = 1e-7, to which an epsilon of 1e-8 would make a difference."""
    p = torch.tensor([[1e-7, 0.25, 0.75]] * 81)

    kept = emitted(student, [0] * 80, p[:80].clone(), p, 0)

    check(len(kept) == 81, f"{len(kept) - 1} guesses stay where q = p, expected all 80")


@task("sample", contract=11)
def test_replacement_comes_from_the_residual(student):
    """Guess 0 has p = 0 and goes; max(0, p - q) is 0 0 0.2 0.3 and adds up to 0.5."""
    q = torch.tensor([[0.5, 0.3, 0.2, 0.0]])
    p = torch.tensor([[0.0, 0.3, 0.4, 0.3], [0.25, 0.25, 0.25, 0.25]])

    assert_shares(emitted_often(student, 300, [0], q, p), {(2,): 0.4, (3,): 0.6})


@task("sample", contract=11)
def test_residual_of_one_token_among_many(student):
    """All of 4096 tokens have q = p but two: the residual is 2**-12 at 9, and 0 elsewhere."""
    q = torch.full((1, 4096), 2.0**-12)
    p = q.repeat(2, 1)
    p[0, 7], p[0, 9] = 0, 2.0**-11

    assert_shares(emitted_often(student, 60, [7], q, p), {(9,): 1.0})


@task("sample", contract=12)
@pytest.mark.parametrize(("place", "want"), [(0, [2]), (1, [0, 2]), (2, [0, 0, 2])], ids=str)
def test_replacement_ends_the_round(student, place, want):
    """The guess in one place has p = 0 and 2 replaces it; the guesses around it would stay."""
    q = torch.tensor([[1.0, 0.0, 0.0]] * 3)
    p = torch.tensor([[1.0, 0.0, 0.0]] * 4)
    p[place] = torch.tensor([0.0, 0.0, 1.0])

    assert_equal([*emitted(student, [0, 0, 0], q, p, 3)], want, "the list of emitted tokens")


@task("sample", contract=13)
def test_last_row_behind_all_guesses(student):
    """All guesses have q = p; the last row is like no other."""
    p = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.2, 0.0, 0.3, 0.5]])

    found = emitted_often(student, 300, [0, 1], p[:2].clone(), p)

    assert_shares(found, {(0, 1, 0): 0.2, (0, 1, 2): 0.3, (0, 1, 3): 0.5})


@task("sample", contract=14)
def test_each_guess_has_its_random_number(student):
    """Guesses stay in half of the cases, independently; 1 and 2 replace them equally often."""
    q = torch.tensor([[1.0, 0.0, 0.0]] * 2)
    p = torch.tensor([[0.5, 0.25, 0.25]] * 2 + [[0.0, 0.0, 1.0]])

    found = emitted_often(student, 400, [0, 0], q, p)

    one, two = {(1,): 0.25, (2,): 0.25}, {(0, 1): 0.125, (0, 2): 0.125}
    assert_shares(found, one | two | {(0, 0, 2): 0.25})


@task("sample", contract=15)
def test_every_list_by_its_chance(student):
    """Guess 0 stays in 1/2, guess 1 in 2/3 of the cases; the residuals are 0.1 0.2 and 1 0."""
    q = torch.tensor([[0.6, 0.2, 0.2], [0.1, 0.6, 0.3]])
    p = torch.tensor([[0.3, 0.3, 0.4], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7]])

    found = emitted_often(student, 600, [0, 1], q, p)

    replaced = {(1,): 1 / 6, (2,): 1 / 3, (0, 0): 1 / 6}
    assert_shares(
        found, replaced | {(0, 1, token): x / 3 for token, x in enumerate([0.1, 0.2, 0.7])}
    )


@task("sample", contract=15)
def test_first_token_is_the_targets(student):
    """500 guesses by q, 250 150 100 of each token: what comes out first has the law p."""
    q, p = torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([[0.2, 0.2, 0.6], [1.0, 0.0, 0.0]])
    guesses = [0] * 250 + [1] * 150 + [2] * 100

    found = Counter(emitted(student, [x], q, p, i)[:1] for i, x in enumerate(guesses))

    assert_shares(found, {(0,): 0.2, (1,): 0.2, (2,): 0.6})


@task("sample", contract=16)
def test_tokens_without_a_chance(student):
    """What has p = 0 never comes, guessed or not; what has q = 0 comes by the residual alone."""
    q, p = torch.tensor([[0.5, 0.5, 0.0, 0.0]]), torch.tensor([[0.0, 0.5, 0.0, 0.5]] * 2)

    assert_shares(emitted_often(student, 60, [0], q, p), {(3,): 1.0})
    assert_shares(emitted_often(student, 200, [1], q, p), {(1, 1): 0.5, (1, 3): 0.5})


@task("sample", contract=17)
@pytest.mark.parametrize("k", [1, 30])
def test_residual_of_zeros(student, k):
    """Rows add up to 1 within float32's rounding; all have q = p but guess 1, with q = 4 p."""
    p = torch.tensor([[0.0, 2.0**-24, 0.5, 0.5]] * (k + 1))
    q = p[:k].clone()
    q[:, 1] *= 4

    for seed in range(1 if k > 1 else 20):
        got = emitted(student, [1] * k, q, p, seed)

        say = f"{[*got]} came out with seed {seed}, expected guesses 1 and one token of 1, 2, 3"
        check(0 < len(got) <= k + 1 and {*got[:-1]} <= {1} and got[-1] in (1, 2, 3), say)


@task("sample", contract=18)
def test_no_guesses_one_draw(student):
    """The target alone: 0.2 0.3 0.5."""
    found = emitted_often(student, 300, [], torch.zeros(0, 3), torch.tensor([[0.2, 0.3, 0.5]]))

    assert_shares(found, {(0,): 0.2, (1,): 0.3, (2,): 0.5})


# Each guess stays in half of the cases; 500 tokens replace it, or follow all.
WIDE_Q = torch.zeros(4, 501)
WIDE_Q[:, 0] = 1
WIDE_P = torch.full((5, 501), 1e-3)
WIDE_P[:, 0] = 0.5


@task("sample", contract=19)
def test_seeds_decide(student):
    """Ten seeds, the same again, and ten others."""
    first, again, others = (
        [emitted(student, [0] * 4, WIDE_Q, WIDE_P, seed) for seed in range(start, start + 10)]
        for start in (0, 0, 10)
    )

    assert_equal([*map(list, again)], [*map(list, first)], "what seeds 0 to 9 give again")
    different = len({*first, *others})
    check(different > 15, f"20 seeds gave {different} different lists, expected about 20")


@task("sample", contract=20)
def test_generator_is_left_further_on(student):
    """Six calls with one generator; another of the same seed repeats them."""
    one, another = student.generator(7), student.generator(7)

    first, again = (
        [expect(student.accept_sample([0] * 4, WIDE_Q, WIDE_P, x), list[int]) for _ in range(6)]
        for x in (one, another)
    )

    different = len({*map(tuple, first)})
    check(different > 3, f"six calls gave {different} different lists, expected 6: {first}")
    assert_equal(again, first, "what another generator of the same seed gives")


@task("sample", contract=21)
def test_without_a_generator(student):
    """Twelve calls without one, a call with seed 7 before each of them."""
    found: list[tuple[int, ...]] = []
    for _ in range(12):
        emitted(student, [0] * 4, WIDE_Q, WIDE_P, 7)
        found.append(emitted(student, [0] * 4, WIDE_Q, WIDE_P, None))

    different = len({*found})
    check(different > 6, f"twelve calls gave {different} different lists, expected about 12")


@task("sample", contract=22)
@pytest.mark.parametrize("goes", [0, 1, 2])
def test_sampling_changes_nothing(student, goes):
    """Rows are columns of a larger tensor; guess 0 or 1 goes, or all stay."""
    q = torch.tensor([[0.5] * 5, [0.25] * 5, [0.25] * 5])
    p = q.clone()
    if goes < 2:
        p[:, goes] = torch.tensor([2.0**-40, 0.125, 0.875])  # next to nothing, but not 0
    draft, q, p = student.watch([0, 0]), student.watch(q.T[:2]), student.watch(p.T[:3])

    got = expect(student.accept_sample(draft, q, p, seeded(1)), list[int], "the tokens to emit")

    check(len(got) == goes + 1, f"{got} came out, expected {goes + 1} tokens")
    assert_unmodified(draft, "draft")
    assert_unmodified(q, "draft_probs")
    assert_unmodified(p, "target_probs")


# --- Task 3: generate ------------------------------------------------------------------------

Says = Callable[[list[int]], Tensor]  # a text -> the logits [V] of what follows


class Model:
    """A model of the test: logits by ``says``, a cache that can be looked at, and a diary."""

    def __init__(self, name: str, says: Says, diary: list[str]) -> None:
        self.name, self.says, self.diary = name, says, diary
        self.tokens: list[int] = []  # the cache
        self.calls: list[tuple[int, list[int]]] = []  # tokens in the cache before, cache after
        self.read_again = 0
        self._seen: set[tuple[int, ...]] = set()

    @property
    def length(self) -> int:
        return len(self.tokens)

    def forward(self, tokens: Any = None) -> Tensor:  # [T, V]
        new = expect(tokens, list[int], f"what {self.name}.forward is given")
        text = f"{new}" if len(new) < 9 else f"[{new[0]}, {new[1]}, … {len(new)} tokens]"
        self.diary.append(f"{self.name}.forward({text})")
        check(self.length + len(new) < 500, f"the cache of the {self.name} grows beyond 500 tokens")
        rows: list[Tensor] = []
        before = self.length
        for token in new:
            self.tokens.append(token)
            rows.append(self.says(self.tokens))
            self.read_again += tuple(self.tokens) in self._seen
            self._seen.add(tuple(self.tokens))
        self.calls.append((before, [*self.tokens]))
        vocab = len(rows[0]) if rows else 1
        strange = [token for token in new if not 0 <= token < vocab]
        check(not strange, f"{self.name}.forward({new}): {strange[:1]} is not below {vocab}")
        return torch.stack(rows) if rows else torch.zeros(0, 1)

    def rewind(self, n: Any = None) -> None:
        count = expect(n, int, f"what {self.name}.rewind is given")
        self.diary.append(f"{self.name}.rewind({count})")
        say = f"{self.name}.rewind({count}) of a cache of {self.length} tokens"
        check(0 <= count <= self.length, f"{say}, expected 0 to {self.length}")
        del self.tokens[self.length - count :]


@dataclass
class Run:
    """A generation: what came back, the two models after it, and what had happened."""

    target: Model
    draft: Model
    tokens: list[int]
    stats: dict[str, Any]
    diary: list[str] = field(default_factory=list)

    def told(self, name: str) -> int:
        check(name in self.stats, f"the statistics are {self.stats}, expected {name} among them")
        return expect(self.stats[name], int, f"{name} of the statistics")

    def lately(self) -> str:
        """The last calls of the models, for a message."""
        return " · ".join(["…", *self.diary[-10:]] if len(self.diary) > 10 else self.diary)


def run(student, target: Says, draft: Says, *args: Any, **named: Any) -> Run:
    """speculative_generate(target, draft, *args) with two new models."""
    diary: list[str] = []
    models = Model("target", target, diary), Model("draft", draft, diary)
    lent = [student.lend(x, ("forward", "rewind"), ("length",), steady=True) for x in models]

    got = student.speculative_generate(*lent, *args, **named)

    pair = expect(got, tuple, "the result")
    check(len(pair) == 2, f"the result has {len(pair)} items, expected tokens and statistics")
    tokens = expect(pair[0], list[int], "the tokens")
    return Run(*models, tokens, expect(pair[1], dict, "the statistics"), diary)


def counting(after_6: int = 7) -> Says:
    """A model that counts modulo 10; after 6 it may say another number than 7."""
    return lambda text: torch.eye(10)[after_6 if text[-1] == 6 else (text[-1] + 1) % 10]


def astray(text: list[int]) -> Tensor:
    return torch.eye(10)[(text[-1] + 5) % 10]


RIGHT, BAD, WRONG = counting(), counting(after_6=0), astray
DRAFTS = {"right": RIGHT, "bad": BAD, "wrong": WRONG}
each_draft = pytest.mark.parametrize("draft", DRAFTS)


def count_on(start: int, count: int) -> list[int]:
    return [(start + i) % 10 for i in range(1, count + 1)]


def handout(student) -> Run:
    return run(student, RIGHT, BAD, [2], 3, 20, [9])


@task("generate", contract=23)
def test_three_rounds_of_the_handout(student):
    """Counting on from 2 to the EOS 9."""
    assert_equal(handout(student).tokens, [3, 4, 5, 6, 7, 8], "the list of tokens")


@task("generate", contract=23)
@each_draft
@pytest.mark.parametrize("k", [0, 1, 3, 8])
def test_text_does_not_depend_on_the_draft(student, draft, k):
    """A draft that is right, now and then wrong, or always wrong; few guesses or many."""
    done = run(student, RIGHT, DRAFTS[draft], [3, 4], k, 12, [])

    assert_equal(done.tokens, count_on(4, 12), "the list of tokens")


SHIPPED = Path(__file__).resolve().parents[1] / "checkpoints"


def shipped(student, name: str) -> Says:
    """A shipped checkpoint, in float32, run by the given Llama without a cache."""
    folder: Folder = student.checkpoint(name)
    if folder.host.resolve() != SHIPPED / name:
        raise NotGraded(f"what is printed in this test is what labs/checkpoints/{name} says")
    config = student.handle("LlamaConfig", given="common").from_pretrained(folder.path)
    weights = {key: x.float() for key, x in load_file(folder.host / "model.safetensors").items()}
    model = expect(student.given("llama").Llama(config, weights), Proxy, "the given Llama")

    return lambda text: model(torch.tensor([text]), torch.arange(len(text))[None])[0, -1]


# `if __name__ ==` with the BOS in front; `"__main__":`, a line that calls unittest.main, and EOS 1.
MAIN = [0, 781, 507, 376, 317, 553]
ITS_REST = [2043, 782, 317, 915, 281, 894, 15, 782, 302, 200]


@task("generate", contract=23)
def test_shipped_checkpoints(student):
    """What the shipped target says; four guesses of the draft a round save most of its calls."""
    target, draft = shipped(student, "target"), shipped(student, "draft")

    done = run(student, target, draft, MAIN, 4, 16, [1])

    assert_equal(done.tokens, ITS_REST, "the list of tokens")
    say = f"{len(done.target.calls)} calls of the target for 10 tokens and an EOS"
    check(len(done.target.calls) <= 4, f"{say}, expected 3 or 4")


@task("generate", contract=24)
@pytest.mark.parametrize("k", [0, 3])
def test_best_token_by_a_hair(student, k):
    """The next number has the logit 1 + 2**-10, all others have 1."""

    def close(text: list[int]) -> Tensor:
        return 1 + RIGHT(text) / 1024

    done = run(student, close, close, [2], k, 16, [])

    assert_equal(done.tokens, count_on(2, 16), "the list of tokens")


@task("generate", contract=25)
@pytest.mark.parametrize(("k", "rounds"), [(0, 42), (1, 21), (5, 7), (6, 6)])
def test_target_is_called_once_a_round(student, k, rounds):
    """42 tokens of a perfect draft, k + 1 a round."""
    done = run(student, RIGHT, RIGHT, [2], k, 42, [])

    calls = len(done.target.calls)
    say = f"{calls} calls of the target for {rounds} rounds of {k} guesses"
    check(calls <= rounds + 1, f"{say}, expected {rounds} or {rounds + 1}")


@task("generate", contract=26)
@each_draft
def test_draft_is_called_once_a_guess(student, draft):
    """Rounds of three guesses: no more than four calls of the draft for one of the target."""
    done = run(student, RIGHT, DRAFTS[draft], [2], 3, 12, [])

    calls, most = len(done.draft.calls), 4 * len(done.target.calls)
    say = f"{calls} calls of the draft for {len(done.target.calls)} of the target, with k = 3"
    check(calls <= most, f"{say}, expected {most} at most: {done.lately()}")


def assert_placed(done: Run, prompt: list[int]) -> None:
    """Each call found in its cache a beginning of the text, or of what the target read next."""
    text = prompt + done.tokens
    for before, whole in done.target.calls:
        held = whole[:before]
        say = f"before target.forward({whole[before:]}) its cache held {held}"
        check(held == text[:before], f"{say}, expected a beginning of {text}: {done.lately()}")
    wholes = [whole for _, whole in done.target.calls] + [text]
    for before, whole in done.draft.calls:
        held = whole[:before]
        fits = any(held == other[:before] for other in wholes)
        say = f"before draft.forward({whole[before:]}) its cache held {held}"
        check(fits, f"{say}, expected a beginning of text and guess: {done.lately()}")


@task("generate", contract=27)
@each_draft
@pytest.mark.parametrize("k", [1, 3])
def test_caches_before_each_call(student, draft, k):
    """No rejected guess is left, and none that was accepted is missing."""
    done = run(student, RIGHT, DRAFTS[draft], [2], k, 12, [])

    assert_equal(done.tokens, count_on(2, 12), "the list of tokens")
    assert_placed(done, [2])


def assert_caches(done: Run, prompt: list[int]) -> None:
    """At the end both caches hold a beginning of the text."""
    text = prompt + done.tokens
    for model in (done.target, done.draft):
        say = f"at the end the cache of the {model.name} holds {model.tokens}"
        fits = model.tokens == text[: model.length]
        check(fits, f"{say}, expected a beginning of {text}: {done.lately()}")


@task("generate", contract=28)
def test_caches_behind_the_handout(student):
    """Neither the EOS 9 nor the guess 0 behind it is left."""
    assert_caches(handout(student), [2])


@task("generate", contract=28)
@each_draft
@pytest.mark.parametrize("count", [4, 5, 6])
def test_caches_behind_the_limit(student, draft, count):
    """What was guessed beyond the limit is not left."""
    assert_caches(run(student, RIGHT, DRAFTS[draft], [2], 3, count, []), [2])


def assert_little_read_again(done: Run) -> None:
    rounds = len(done.target.calls)
    for model in (done.target, done.draft):
        say = f"the {model.name} read {model.read_again} tokens again in {rounds} rounds"
        check(model.read_again <= rounds + 1, f"{say}, expected none: {done.lately()}")


@task("generate", contract=29)
@each_draft
def test_caches_are_used(student, draft):
    """A prompt of twenty tokens, and sixteen new ones."""
    done = run(student, RIGHT, DRAFTS[draft], count_on(2, 20), 3, 16, [])

    assert_little_read_again(done)


@task("generate", contract=30)
@each_draft
@pytest.mark.parametrize("k", [0, 3])
def test_target_calls_of_the_statistics(student, draft, k):
    """Also the call that reads the prompt, if you make one, is counted."""
    done = run(student, RIGHT, DRAFTS[draft], [1, 2, 3], k, 9, [])

    assert_equal(done.told("target_calls"), len(done.target.calls), "target_calls")


@task("generate", contract=31)
@pytest.mark.parametrize("count", [4, 7])
@pytest.mark.parametrize("k", [0, 1, 4])
def test_drafted_of_the_statistics(student, k, count):
    """All guesses are wrong, so what the target read behind the text is what was guessed."""
    done = run(student, RIGHT, WRONG, [1, 2, 3], k, count, [])

    text, guesses = [1, 2, 3, *count_on(3, count + 9)], 0
    for _, whole in done.target.calls:
        same = [x == y for x, y in zip(whole, text, strict=False)]
        guesses += len(whole) - [*same, False].index(False)
    say = f"drafted is {done.told('drafted')}, expected {guesses}"
    check(done.told("drafted") == guesses, f"{say}: {done.lately()}")


@task("generate", contract=32)
def test_accepted_of_the_handout(student):
    """3, 4 and 5, then 8; the EOS 9 may count, what is behind it may not."""
    done = handout(student)

    say = f"accepted is {done.told('accepted')}, expected 4, or 5 with the EOS"
    check(done.told("accepted") in (4, 5), f"{say}: {done.lately()}")


@task("generate", contract=32)
@pytest.mark.parametrize("count", [3, 9])
def test_accepted_of_wrong_and_right_guesses(student, count):
    """Of wrong guesses none; of right ones all tokens but the target's own, one a call."""
    done = run(student, RIGHT, WRONG, [2], 4, count, [])
    assert_equal(done.told("accepted"), 0, "accepted")

    done = run(student, RIGHT, RIGHT, [2], 4, count, [])
    least, most = count - len(done.target.calls), min(count, done.told("drafted"))
    say = f"accepted is {done.told('accepted')}, expected {least} to {most}"
    check(least <= done.told("accepted") <= most, f"{say}: {done.lately()}")


@task("generate", contract=33)
@pytest.mark.parametrize("count", range(1, 8))
@pytest.mark.parametrize("k", [1, 4])
def test_limit_anywhere_in_a_round(student, k, count):
    """The first tokens of the text, as many as are asked for."""
    for draft in (RIGHT, BAD):
        done = run(student, RIGHT, draft, [2], k, count, [9])

        assert_equal(done.tokens, count_on(2, min(count, 6)), "the list of tokens")


@task("generate", contract=33)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("k", [0, 3])
def test_limit_of_no_tokens(student, k, temperature):
    """max_new_tokens = 0."""
    done = run(student, RIGHT, RIGHT, [2, 3], k, 0, [9], temperature, seeded(1))

    assert_equal(done.tokens, [], "the list of tokens")
    assert_equal(done.told("drafted"), 0, "drafted")


@task("generate", contract=34)
@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("start", [4, 6, 7, 8])
def test_eos_anywhere_in_a_round(student, start, k):
    """Counting on to the EOS 9 from a number before: a guess, or the target's own token."""
    for draft in (RIGHT, BAD):
        done = run(student, RIGHT, draft, [start], k, 20, [9])

        assert_equal(done.tokens, count_on(start, 8 - start), "the list of tokens")


@task("generate", contract=35)
@pytest.mark.parametrize("k", [1, 3])
def test_eos_that_is_only_guessed(student, k):
    """The draft says 0 after 6, the target 7: though 0 is an EOS, the text goes on to 9."""
    done = run(student, RIGHT, BAD, [2], k, 20, [0, 9])

    assert_equal(done.tokens, [3, 4, 5, 6, 7, 8], "the list of tokens")


@task("generate", contract=35)
@pytest.mark.parametrize("prompt", [[9], [9, 2], [3, 9, 4]], ids=str)
def test_eos_of_the_prompt(student, prompt):
    """It ends nothing."""
    done = run(student, RIGHT, BAD, prompt, 3, 5, [9])

    want = [token for token in count_on(prompt[-1], 5) if token < 9]
    assert_equal(done.tokens, want, "the list of tokens")


@task("generate", contract=36)
@pytest.mark.parametrize("ids", [[7, 8], [8, 7], (7, 8), (0, 8, 7), [9, 7]], ids=str)
def test_several_eos_ids(student, ids):
    """Whichever comes first in the text, that is 7, ends it."""
    done = run(student, RIGHT, RIGHT, [4], 4, 20, ids)

    assert_equal(done.tokens, [5, 6], "the list of tokens")


@task("generate", contract=36)
@pytest.mark.parametrize("ids", [[], ()], ids=str)
def test_no_eos_ids(student, ids):
    """Only the limit ends the text."""
    done = run(student, RIGHT, BAD, [4], 3, 15, ids)

    assert_equal(done.tokens, count_on(4, 15), "the list of tokens")


@task("generate", contract=37)
@pytest.mark.parametrize("prompt", [[2], [0, 1, 2], [5, 5, 5, 2] * 8], ids=["1", "3", "32"])
def test_calls_share_nothing(student, prompt):
    """Two calls with the same lists, which stay as they were, give the same, statistics too."""
    lists = student.watch(prompt), student.watch([9, 8])

    first, second = (run(student, RIGHT, BAD, lists[0], 3, 20, lists[1]) for _ in range(2))

    assert_unmodified(lists[0], "prompt")
    assert_unmodified(lists[1], "eos_ids")
    assert_equal(first.tokens, [3, 4, 5, 6, 7], "the list of tokens")
    assert_equal(second.tokens, first.tokens, "the list of tokens of a second call")
    assert_equal(second.stats, first.stats, "the statistics of a second call")


# Laws over three tokens, by the last token of the text; the draft's are far from the target's.
LAW = [[0.2, 0.05, 0.75], [0.75, 0.05, 0.2], [0.2, 0.75, 0.05]]
GUESS = [[0.3, 0.3, 0.4], [0.2, 0.4, 0.4], [0.6, 0.2, 0.2]]


def by_law(law: list[list[float]], temperature: float) -> Says:
    """A model with this law at this temperature, and with steeper or flatter ones at others."""
    logits = temperature * torch.tensor(law).log()
    return lambda text: logits[text[-1]]


def chances(law: list[list[float]], last: int, count: int, eos: int) -> Chances:
    """What a model alone says behind a token, up to an EOS: each text with its probability."""
    if count == 0:
        return {(): 1.0}
    found = {(): law[last][eos]} if eos >= 0 else {}
    for token in range(len(law)):
        if token != eos:
            rest = chances(law, token, count - 1, eos)
            found |= {(token, *text): law[last][token] * chance for text, chance in rest.items()}
    return found


@task("generate", contract=38)
@pytest.mark.parametrize(
    ("k", "count", "eos", "temperature"),
    [(0, 1, -1, 0.3), (2, 1, -1, 0.3), (1, 2, -1, 0.3), (1, 2, -1, 1.8), (2, 3, 0, 0.3)],
    ids=str,
)
def test_short_texts_by_their_chances(student, k, count, eos, temperature):
    """Of 150 texts of one to three tokens, what stands in each place; the models are far apart."""
    models = by_law(LAW, temperature), by_law(GUESS, temperature)
    ids, law = [eos] if eos >= 0 else [], chances(LAW, 2, count, eos)

    texts: list[tuple[int, ...]] = []
    for seed in range(150):
        done = run(student, *models, [1, 2], k, count, ids, temperature, seeded(seed))
        texts.append(tuple(done.tokens))

    for place in range(count):
        here: Chances = {}
        for text, chance in law.items():
            token = text[place : place + 1]  # none where the text has ended
            here[token] = here.get(token, 0.0) + chance
        assert_shares(Counter(text[place : place + 1] for text in texts), here)


@task("generate", contract=38)
@pytest.mark.parametrize(
    ("temperature", "size"), [(1e-5, 0.0), (1e-3, 0.0), (0.8, 2000.0), (2e4, 0.0)]
)
def test_any_temperature_will_do(student, temperature, size):
    """Logits t log p + size, at temperature t: 0 comes in 3/4 of the cases, 2 never does."""
    logits = temperature * torch.tensor([0.75, 0.25, 0.0]).log() + size

    done = run(student, *[lambda text: logits] * 2, [1], 3, 160, [], temperature, seeded(4))

    assert_shares(Counter((token,) for token in done.tokens), {(0,): 0.75, (1,): 0.25})


@task("generate", contract=39)
@pytest.mark.parametrize("temperature", [0.3, 1.6])
def test_twin_guesses_right(student, temperature):
    """A draft that is the target itself, k = 4: sixty tokens, five a round."""
    twin = by_law(LAW, 1.0)

    done = run(student, twin, twin, [1], 4, 60, [], temperature, seeded(5))

    calls = len(done.target.calls)
    check(calls <= 13, f"{calls} calls of the target for 60 tokens, expected 12 or 13")


@task("generate", contract=40)
@pytest.mark.parametrize("size", [-5e3, 0.0, 5e3])
def test_logits_far_from_zero(student, size):
    """The next number is ahead by 200, and what comes after a 7 is certain: all else is -inf."""

    def says(text: list[int]) -> Tensor:
        row = 200 * RIGHT(text) + size
        return row.masked_fill(RIGHT(text) == 0, -INF) if text[-1] == 7 else row

    done = run(student, says, BAD, [2], 3, 12, [], 0.5, seeded(3))

    assert_equal(done.tokens, count_on(2, 12), "the list of tokens")


@task("generate", contract=40)
def test_what_has_no_chance_is_not_said(student):
    """Token 0 is guessed and never said, token 2 said and never guessed."""
    models = by_law([[0.0, 0.5, 0.5]] * 3, 0.8), by_law([[0.5, 0.5, 0.0]] * 3, 0.8)

    done = run(student, *models, [1], 2, 120, [], 0.8, seeded(9))

    assert_shares(Counter((token,) for token in done.tokens), {(1,): 0.5, (2,): 0.5})


@task("generate", contract=41)
@pytest.mark.parametrize("k", [0, 1, 4])
def test_sampled_text_keeps_the_rules(student, k):
    """Forty tokens without an EOS: calls, caches and statistics as at temperature 0."""
    models = by_law(LAW, 0.7), by_law(GUESS, 0.7)

    done = run(student, *models, [1, 2, 0], k, 40, [], 0.7, seeded(2))

    check(len(done.tokens) == 40, f"{len(done.tokens)} tokens came back, expected 40")
    calls, guesses = len(done.target.calls), len(done.draft.calls)
    say = f"{guesses} calls of the draft for {calls} of the target, with k = {k}"
    check(guesses <= (k + 1) * calls, f"{say}, expected {(k + 1) * calls} at most")
    check(k == 0 or guesses > 0, f"{say}, expected some guesses")
    assert_placed(done, [1, 2, 0])
    assert_caches(done, [1, 2, 0])
    assert_little_read_again(done)
    assert_equal(done.told("target_calls"), calls, "target_calls")
    least, most = 40 - calls, min(40, done.told("drafted"))
    say = f"accepted is {done.told('accepted')}, expected {least} to {most}"
    check(least <= done.told("accepted") <= most, say)


@task("generate", contract=41)
def test_sampled_eos_ends_the_text(student):
    """Ten texts, each token of which is the EOS 0 in a tenth of the cases or more."""
    for seed in range(10):
        models = by_law(LAW, 1.0), by_law(GUESS, 1.0)

        done = run(student, *models, [1], 3, 300, [0], 1.0, seeded(seed))

        say = f"the text with seed {seed} has {len(done.tokens)} tokens"
        check(len(done.tokens) < 300, f"{say}, expected an EOS before 300")
        check(0 not in done.tokens, f"the EOS 0 is in {done.tokens}, expected none")
        assert_caches(done, [1])


@task("generate", contract=42)
@pytest.mark.parametrize("k", [0, 3])
def test_seeds_decide_the_text(student, k):
    """Seed 1 twice, seed 2, one generator for two texts, and none, behind a text of seed 1."""
    models = by_law(LAW, 1.0), by_law(GUESS, 1.0)

    def text(**named: Any) -> list[int]:
        return run(student, *models, [1], k, 30, [], 1.0, **named).tokens

    first = text(generator=seeded(1))
    assert_equal(text(generator=seeded(1)), first, "the list of tokens with seed 1 again")
    used = student.generator(1)
    assert_equal(text(generator=used), first, "the list of tokens with another generator of seed 1")
    free = text()
    text(generator=seeded(1))
    rest = {"seed 2": text(generator=seeded(2)), "the generator used once": text(generator=used)}
    rest |= {"no generator": free, "no generator again": text()}
    texts = [first]
    for name, tokens in rest.items():
        say = f"with {name} the text is that of an earlier call, {tokens[:8]}…"
        check(tokens not in texts, f"{say}, expected another")
        texts.append(tokens)


# --- Task 4: speedup -------------------------------------------------------------------------


def assert_speedup(student, acceptance: float, k: int, cost_ratio: float, want: float) -> None:
    got = expect(student.expected_speedup(acceptance, k, cost_ratio), float, "the speed-up")
    check(abs(got - want) < 1e-6 * want, f"the speed-up is {got:.7g}, expected {want:.7g}")


@task("speedup", contract=43)
@pytest.mark.parametrize(
    ("acceptance", "k", "tokens"), [(0.5, 1, 1.5), (0.5, 2, 1.75), (0.8, 3, 2.952), (0.9, 2, 2.71)]
)
def test_tokens_of_a_round(student, acceptance, k, tokens):
    """A draft that costs nothing: 1 + 0.5 + 0.25 tokens for one call of the target."""
    assert_speedup(student, acceptance, k, 0.0, tokens)


@task("speedup", contract=44)
@pytest.mark.parametrize(
    ("acceptance", "k", "cost_ratio", "want"),
    [(0.5, 2, 0.25, 7 / 6), (0.5, 1, 0.5, 1.0), (0.9, 2, 0.1, 2.71 / 1.2)],
)
def test_cost_of_a_round(student, acceptance, k, cost_ratio, want):
    """The example of the handout: 1.75 tokens for 1 + 2 * 0.25 calls."""
    assert_speedup(student, acceptance, k, cost_ratio, want)


@task("speedup", contract=45)
@pytest.mark.parametrize("cost_ratio", [0.0, 0.25])
def test_acceptance_of_none_and_of_all(student, cost_ratio):
    """Useless guesses give one token a round, perfect ones all k + 1."""
    assert_speedup(student, 0.0, 4, cost_ratio, 1 / (1 + 4 * cost_ratio))
    assert_speedup(student, 1.0, 4, cost_ratio, 5 / (1 + 4 * cost_ratio))
    assert_speedup(student, 1 - 1e-12, 4, cost_ratio, 5 / (1 + 4 * cost_ratio))


@task("speedup", contract=46)
def test_speedup_of_few_and_of_many_guesses(student):
    """k = 0 is decoding without a draft; a hundred guesses of a dear draft are a loss."""
    assert_speedup(student, 0.7, 0, 0.5, 1.0)
    assert_speedup(student, 1.0, 0, 2.0, 1.0)
    assert_speedup(student, 0.5, 100, 0.5, 2 / 51)
