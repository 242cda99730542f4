"""Hidden suite of lab 10. Both models of a generation are ours, caches and all, so every call is
seen with what its cache held; greedy texts, calls, statistics and impossible tokens are exact.

A generator crosses to the submission as a seed, so laws are judged by draws, each law counted out
in full: chi-square at p < 1e-6, and only if a second secret seed says the same. A right answer
fails one such law in 10**12 runs, and the two dozen here together less than once in 10**10.
What else depends on draws is off by accident less than once in 10**10 too, as said there.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    Mismatch,
    assert_equal,
    assert_unmodified,
    check,
    check_within,
    expect,
    task,
)
from reference import speculative as oracle
from reference.sampling import chi_square_p, furthest
from reference.scripted.diary import alike, misplaced, read_again, rounds_needed, tallies
from reference.scripted.masked import Misuse
from reference.scripted.reader import Call, Reader, Rows, Script, disagree, greedy

VOCAB = 47
EOS = [41, 5, 23]
DRAFTS = ["perfect", "useless", "alternating", "fair"]

# --- greedy ----------------------------------------------------------------------------------


def logits_for(draw: Any, best: Sequence[int], vocab: int = VOCAB) -> Tensor:
    """Random logits whose best token in each row is the one given, by a clear margin."""
    logits = draw.normal(len(best), vocab, scale=2)
    for row, token in zip(logits, best, strict=True):
        row[token] = row.max() + 1
    return logits


def others(draw: Any, tokens: Sequence[int], vocab: int = VOCAB) -> list[int]:
    """A different token for each of these."""
    return [(token + draw.integer(1, vocab)) % vocab for token in tokens]


def assert_greedy(student: Any, draft: list[int], best: list[int], logits: Any) -> None:
    right = alike(draft, best)

    got = expect(student.accept_greedy(draft, logits), list[int], "the tokens to emit")

    of = f"of {len(draft)} guesses {right} are right"
    say = f"{len(got)} tokens come out, expected {right + 1}: {of}, and one token follows them"
    check(len(got) == right + 1, say)
    kept = alike(got, draft)
    check(kept >= right, f"{of}, but only the first {kept} are emitted as they are")
    say = f"{of}, but the token behind them is {got[-1]}, expected {best[right]}, the target's own"
    check(got[-1] == best[right], say)


@task("greedy", contract=1, gate=True)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_guesses_are_kept_up_to_the_first_wrong_one(student, draw, k):
    """The right guesses are emitted up to the first wrong one, then the target's own token."""
    for right in range(k):
        best = draw.tokens(VOCAB, k + 1)
        draft = best[:right] + others(draw, best[right:k])

        assert_greedy(student, draft, best, logits_for(draw, best))


@task("greedy", contract=3)
def test_nothing_follows_a_wrong_guess(student, draw):
    """A guess behind a wrong one does not count, even if the target would agree with it."""
    for wrong in range(6):
        best = draw.tokens(VOCAB, 7)
        draft = best[:6]
        draft[wrong] = others(draw, [best[wrong]])[0]

        assert_greedy(student, draft, best, logits_for(draw, best))


@task("greedy", contract=4)
@pytest.mark.parametrize("k", [1, 4, 13])
def test_all_right_earns_one_more(student, draw, k):
    """When all k guesses are right, the last row gives a token more."""
    best = draw.tokens(VOCAB, k + 1)

    assert_greedy(student, best[:k], best, logits_for(draw, best))


@task("greedy", contract=5)
def test_no_guess_at_all(student, draw):
    """Without guesses the target's token is emitted."""
    for _ in range(3):
        best = draw.tokens(VOCAB, 1)
        assert_greedy(student, [], best, logits_for(draw, best))


@task("greedy", contract=2)
def test_guess_that_is_right_elsewhere(student, draw):
    """A guess is judged by its own row: the target's token one place away does not help it."""
    best = draw.shuffled(range(VOCAB))[:7]

    assert_greedy(student, best[1:7], best, logits_for(draw, best))
    assert_greedy(student, [best[0], *best[:5]], best, logits_for(draw, best))


@task("greedy", contract=6)
def test_guess_that_is_nearly_right(student, draw):
    """A guess stays only if it is the target's best token: a close second is as wrong as any."""
    for wrong in range(4):
        best = draw.tokens(VOCAB, 5)
        logits = logits_for(draw, best)
        second = logits.topk(2).indices[:, 1].tolist()
        # Thousands of roundings in float32 away from the best, and one or none in 16 bits.
        logits[range(5), second] = logits[range(5), best] - 2**-10
        draft = [*best[:wrong], second[wrong], *best[wrong + 1 : 4]]

        assert_greedy(student, draft, best, logits)


def smallest_guesses() -> Iterable[tuple[list[int], list[int], Tensor]]:
    """All that none, one or two guesses of one or two tokens can meet: guesses, best tokens."""
    for k, vocab in itertools.product((0, 1, 2), (1, 2)):
        for best in itertools.product(range(vocab), repeat=k + 1):
            for draft in itertools.product(range(vocab), repeat=k):
                yield [*draft], [*best], torch.eye(vocab)[[*best]]


@task("greedy", contract=1)
def test_smallest_guesses(student):
    """None, one or two guesses of one or two tokens are kept up to the first wrong one."""
    for draft, best, logits in smallest_guesses():
        assert_greedy(student, draft, best, logits)


def odd_logits(draw: Any, best: list[int], dtype: torch.dtype, shift: float) -> Tensor:
    """Logits with their rows side by side in memory, others beside them, and -inf among them."""
    base = draw.normal(VOCAB, len(best) + 4, scale=2) + shift
    base[draw.integers(0, 2, *base.shape) == 1] = -math.inf
    base[best, torch.arange(len(best))] = shift + 40 + abs(shift) / 4
    return base.to(dtype)[:, : len(best)].T


@task("greedy", contract=7)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_logits_of_any_kind(student, draw, dtype):
    """Logits may be of any dtype and sign, -inf among them, and a view of something larger."""
    for shift in (-300.0, 0.0, 300.0, *([] if dtype == torch.float16 else [1e6])):
        best = draw.tokens(VOCAB, 5)
        logits = odd_logits(draw, best, dtype, shift)

        assert_greedy(student, [*best[:2], *others(draw, best[2:4])], best, logits)


@task("greedy", contract=8)
def test_guesses_and_logits_are_left_alone(student, draw):
    """Neither the list of guesses nor a byte of the logits is modified."""
    for right in (0, 2, 4):
        best = draw.tokens(VOCAB, 5)
        guesses = student.watch(best[:right] + others(draw, best[right:4]))
        logits = student.watch(odd_logits(draw, best, torch.float32, 1.0))

        expect(student.accept_greedy(guesses, logits), list[int], "the tokens to emit")

        assert_unmodified(guesses, "draft")
        assert_unmodified(logits, "target_logits")


# --- sample ----------------------------------------------------------------------------------


def secret(draw: Any) -> int:
    """Draw a seed below 2**31: the CPU's generator tells no more bits apart than 32."""
    return draw.integer(0, 2**31)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rows_of(draw: Any, count: int, vocab: int, least: float = 0.05) -> Tensor:
    """Random distributions, float32, in which no token is rarer than ``least``."""
    shares = draw.normal(count, vocab, scale=1.2).softmax(-1)
    return shares * (1 - least * vocab) + least


def row(*shares: float) -> list[float]:
    return [share / math.fsum(shares) for share in shares]


@dataclass(frozen=True)
class Case:
    """Guesses with the distributions of draft and target."""

    draft: list[int]
    q: Tensor  # [k, V]
    p: Tensor  # [k+1, V]

    @classmethod
    def of(cls, draft: list[int], q: list[list[float]], p: list[list[float]]) -> "Case":
        width = len(p[0])
        return cls(draft, torch.tensor(q).reshape(len(q), width), torch.tensor(p))

    def emit(
        self, student: Any, seed: int | None, q: Any = None, p: Any = None, generator: Any = None
    ) -> list[int]:
        """Call the submission once, and check the form of its answer."""
        generator = generator if seed is None else seeded(seed)
        q, p = (self.q if q is None else q), (self.p if p is None else p)
        return self.checked(student.accept_sample(self.draft, q, p, generator))

    def emit_often(self, student: Any, seed: int, times: int) -> list[list[int]]:
        """Call the submission with generators of that many seeds, one after the other."""
        given, seeds = (self.draft, self.q, self.p), many_seeds(seed, times)
        got = student.each("accept_sample", given, *(seeded(each) for each in seeds))
        return [self.checked(each) for each in got]

    def checked(self, result: Any) -> list[int]:
        got = expect(result, list[int], "the tokens to emit")
        k, vocab = len(self.draft), self.p.shape[1]
        check(0 < len(got) <= k + 1, f"{len(got)} tokens come out, expected 1 to {k + 1}")
        strange = [token for token in got if not 0 <= token < vocab]
        check(not strange, f"token {strange[:1]} is emitted, expected 0 to {vocab - 1}")
        kept = alike(got, self.draft)
        say = f"{len(got)} tokens come out, but only the first {kept} of them are guesses"
        check(kept >= len(got) - 1, f"{say}, expected all but the last")
        return got

    def law(self) -> dict[tuple[int, ...], float]:
        return oracle.outcomes(self.draft, self.q.double().tolist(), self.p.double().tolist())


def assert_law(
    draw: Any,
    sample: Callable[[int], Iterable[tuple[int, ...]]],
    law: dict[tuple[int, ...], float],
    what: str,
) -> None:
    """Fail if what was drawn is impossible, or beyond belief under two secret seeds."""
    found: Counter[tuple[int, ...]] = Counter()
    for _ in range(2):
        found = Counter(sample(secret(draw)))
        check(not found.keys() - law.keys(), f"{what}: something came out that has probability 0")
        counts, chances = pooled(found, law)
        if chi_square_p(counts, chances) >= 1e-6:
            return
    say = f"{what} does not have the probabilities that it should have"
    raise Mismatch(f"{say}: {furthest_off(found, law)}")


def furthest_off(found: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> str:
    """Say of the outcome that is furthest off how often it came, and how often it should have."""
    worst = [*law][furthest([found[each] for each in law], [*law.values()], floor=1.0)]
    shown = worst[0] if len(worst) == 1 else list(worst)
    total = found.total()
    return f"{shown} came {found[worst]} times in {total}, expected about {total * law[worst]:.0f}"


def pooled(
    found: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]
) -> tuple[list[int], list[float]]:
    """Put outcomes too rare for chi-square together, until each cell expects 20 or more."""
    total = found.total()
    counts, chances = [0], [0.0]
    for outcome, chance in sorted(law.items(), key=lambda item: item[1]):
        counts[-1] += found[outcome]
        chances[-1] += chance
        if total * chances[-1] >= 20:
            counts.append(0)
            chances.append(0.0)
    counts[-2:], chances[-2:] = [sum(counts[-2:])], [math.fsum(chances[-2:])]
    return counts, chances


def many_seeds(seed: int, count: int) -> list[int]:
    return torch.randint(0, 2**31, (count,), generator=seeded(seed)).tolist()


def assert_outcomes(student: Any, draw: Any, case: Case, times: int = 900) -> None:
    """Compare how often each list of tokens is emitted with its chance."""

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        return map(tuple, case.emit_often(student, seed, times))

    assert_law(draw, sample, case.law(), "the list of emitted tokens")


def random_case(draw: Any, k: int, vocab: int) -> Case:
    """A case in which every guess may stay or go: the draft likes it more than the target."""
    q, p = rows_of(draw, k, vocab), rows_of(draw, k + 1, vocab)
    draft = [int((x / y).argmax()) for x, y in zip(q, p[:k], strict=True)]
    return Case(draft, q, p)


@task("sample", contract=9, gate=True)
def test_a_guess_stays_by_its_chance(student, draw):
    """A guess stays with probability min(1, p/q)."""
    cases = [
        Case.of([2], [row(2, 3, 5, 1)], [row(4, 1, 2, 4), row(1, 2, 3, 3)]),
        Case.of([1], [row(1, 7, 1)], [row(4, 6, 2), row(1, 1, 1)]),
    ]
    for case in cases:
        stays = oracle.acceptance(case.p[0].tolist(), case.q[0].tolist(), case.draft[0])

        def sample(seed: int, case: Case = case) -> Iterable[tuple[int, ...]]:
            return ((len(got) - 1,) for got in case.emit_often(student, seed, 600))

        assert_law(draw, sample, {(1,): stays, (0,): 1 - stays}, "the number of guesses that stay")


@task("sample", contract=9)
def test_each_of_many_guesses_stays_by_its_chance(student, draw):
    """Each of several guesses stays by its own chance, if those before it have stayed."""
    case = random_case(draw, 4, 7)
    law: Counter[tuple[int, ...]] = Counter()
    for emitted, chance in case.law().items():
        law[(len(emitted),)] += chance

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        return ((len(got),) for got in case.emit_often(student, seed, 900))

    assert_law(draw, sample, law, "the number of tokens that come out")


@task("sample", contract=9)
def test_guess_that_nearly_always_stays(student, draw):
    """A guess goes with a probability of 1 in 512 too: random numbers are as fine as that."""
    count, goes = 350, 2.0**-9
    p = torch.tensor([[1 - goes, goes]] * (count + 1))
    case = Case([0] * count, torch.tensor([[1.0, 0.0]] * count), p)
    stay = (1 - goes) ** count

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        return ((int(len(got) > count),) for got in case.emit_often(student, seed, 45))

    law = {(1,): stay, (0,): 1 - stay}
    assert_law(draw, sample, law, f"whether {count} guesses stay that go once in 512")


@task("sample", contract=10)
def test_guess_that_the_target_likes_more_stays(student, draw):
    """A guess that the target finds at least as probable as the draft is always accepted."""
    for equal in (False, True) * 12:
        q, p = rows_of(draw, 4, 7), rows_of(draw, 5, 7)
        q = p[:4].clone() if equal else q
        likes = q if equal else q / p[:4]
        case = Case([int(x.argmin()) for x in likes], q, p)

        got = case.emit(student, secret(draw))

        say = "p = q everywhere" if equal else "each of four guesses has p > q"
        check(len(got) == 5, f"{say}, but {len(got) - 1} guesses stay, expected 4")


@task("sample", contract=10)
def test_rare_guesses_stay(student, draw):
    """A guess of any rarity stays where target and draft agree: nothing is added to its chance."""
    count = 60
    for rare in (2e-7, 2e-7, 1e-30):
        p = rows_of(draw, count + 1, 7)
        draft = draw.tokens(7, count)
        p[range(count), draft] = rare
        p /= p.sum(1, keepdim=True)

        got = Case(draft, p[:count].clone(), p).emit(student, secret(draw))

        say = f"{len(got) - 1} rare guesses stay where p = q"
        check(len(got) == count + 1, f"{say}, expected all {count}")


@task("sample", contract=11)
@pytest.mark.parametrize("vocab", [4, 7])
def test_replacement_has_the_law_of_the_residual(student, draw, vocab):
    """What replaces a guess comes by max(0, p - q), made to add up to 1."""
    q, p = (rows_of(draw, count, vocab, 0.03) for count in (1, 2))
    guess = int((q[0] / p[0]).argmax())
    p[0, guess] = 0
    p /= p.sum(1, keepdim=True)

    assert_outcomes(student, draw, Case([guess], q, p), 700)


@task("sample", contract=11)
def test_small_residual(student, draw):
    """Where target and draft differ by little the residual is that little, and nothing else."""
    share, vocab = 2.0**-14, 12289  # all sums of shares are exact in float32
    for _ in range(8):
        often, guess = draw.shuffled(range(vocab))[:2]
        q = torch.full((1, vocab), share)
        q[0, often] = 0.25
        p = q.repeat(2, 1)
        p[0, guess] = 0
        p[0, often] += share

        got = Case([guess], q, p).emit(student, secret(draw))

        assert_equal(got, [often], "the list of tokens")


@task("sample", contract=12)
def test_replacement_is_the_last(student, draw):
    """A guess that the target never says is replaced, and nothing follows it."""
    for place in (0, 1, 3):
        for _ in range(8):
            p = rows_of(draw, 5, 7)
            draft = draw.tokens(7, 4)
            p[place, draft[place]] = 0
            p[place] /= p[place].sum()
            q = p[:4].clone()
            q[place] = rows_of(draw, 1, 7)[0]

            got = Case(draft, q, p).emit(student, secret(draw))

            say = f"guess {place} has p = 0 and goes, but {len(got)} tokens come out"
            check(len(got) == place + 1, f"{say}, expected {place + 1}")


@task("sample", contract=13)
@pytest.mark.parametrize("k", [1, 4])
def test_token_behind_all_guesses(student, draw, k):
    """If all guesses stay, the token after them has the law of the last row."""
    p = rows_of(draw, k + 1, 6)

    assert_outcomes(student, draw, Case(draw.tokens(6, k), p[:k].clone(), p), 500)


@task("sample", contract=14)
def test_guesses_are_judged_independently(student, draw):
    """Each guess is judged by a random number of its own, and what replaces it by another."""
    even = row(1, 1, 1, 1, 1, 1)
    half = row(6, 1, 1, 1, 1, 2)
    case = Case.of([0, 0, 0], [half] * 3, [row(3, 2, 2, 2, 2, 1)] * 3 + [even])

    assert_outcomes(student, draw, case, 1800)


@task("sample", contract=15)
@pytest.mark.parametrize(("k", "vocab"), [(1, 5), (2, 4), (3, 3), (5, 2)], ids=str)
def test_every_list_of_tokens_by_its_probability(student, draw, k, vocab):
    """Each list that may be emitted for k guesses comes out with its probability."""
    assert_outcomes(student, draw, random_case(draw, k, vocab), 1200)


@task("sample", contract=15)
def test_many_tokens(student, draw):
    """The rules hold for a large vocabulary."""
    vocab = 5003
    for place in range(4):
        p = draw.normal(4, vocab, scale=1.5).softmax(1)
        q = p[:3].clone()
        draft = draw.tokens(vocab, 3)
        if place < 3:
            q[place] = draw.normal(vocab, scale=1.5).softmax(0) / 2
            q[place, draft[place]] += 0.5
            p[place, draft[place]] = 0
            p[place] /= p[place].sum()
        case = Case(draft, q, p)

        got = case.emit(student, secret(draw))

        check(len(got) == place + 1, f"{len(got)} tokens come out, expected {place + 1}")
        allowed = place == 3 or bool(case.p[place, got[-1]] > case.q[place, got[-1]])
        check(allowed, f"the replacement {got[-1]} is a token with p <= q, expected one with p > q")


@task("sample", contract=16)
def test_draft_that_never_says_a_token(student, draw):
    """What the draft never says comes by way of the residual, as often as the target says it."""
    case = Case.of(
        [1, 1], [row(0, 5, 3, 0, 2)] * 2, [row(2, 3, 1, 3, 1)] * 2 + [row(0, 1, 0, 2, 0)]
    )

    assert_outcomes(student, draw, case, 700)


@task("sample", contract=16)
def test_nothing_in_common(student, draw):
    """If target and draft never say the same, every first guess is replaced by the target's law."""
    q, p = row(3, 0, 2, 0, 0, 4), row(0, 2, 0, 5, 3, 0)
    case = Case.of([5, 0, 2], [q] * 3, [p] * 4)

    assert_outcomes(student, draw, case, 400)


@task("sample", contract=16)
def test_certain_tokens(student, draw):
    """Where target and draft are sure of themselves nothing is left to chance."""
    for draft, best, sure in smallest_guesses():
        q = torch.eye(sure.shape[1])[draft]
        got = Case(draft, q, sure).emit(student, secret(draw))

        assert_equal(got, best[: alike(draft, best) + 1], "the list of tokens")

    best = draw.shuffled(range(9))[:4]
    sure = torch.eye(9)[best]

    for right in range(4):
        draft = best[:right] + [token for token in others(draw, best[right:3], 9)]
        got = Case(draft, torch.eye(9)[draft], sure).emit(student, secret(draw))

        assert_equal(got, best[: right + 1], "the list of tokens")


@task("sample", contract=17)
@pytest.mark.parametrize("k", [1, 3, 24])
def test_nothing_is_left_for_a_residual(student, draw, k):
    """Where p <= q for every token a guess stays or is drawn from p; both are texts of p."""
    vocab = 6
    for _ in range(2 if k > 9 else 12):
        # The rarity of all guesses is within the rounding of a sum of six float32 numbers.
        p = rows_of(draw, k + 1, vocab)
        draft = draw.integers(1, vocab, k).tolist()
        p[:, 0] = 0
        p[range(k), draft] = 0
        p /= p.sum(1, keepdim=True)
        p[range(k), draft] = 2.0**-24
        q = p[:k].clone()
        q[range(k), draft] *= 4

        got = Case(draft, q, p).emit(student, secret(draw))

        check(0 not in got, "token 0 is emitted, to which both p and q give no chance")


@task("sample", contract=18)
@pytest.mark.parametrize("vocab", [2, 5])
def test_without_guesses_the_target_speaks(student, draw, vocab):
    """Without guesses a token of the target's law is emitted."""
    case = Case([], torch.zeros(0, vocab), rows_of(draw, 1, vocab))

    assert_outcomes(student, draw, case, 500)


@task("sample", contract=19)
def test_seed_decides(student, draw):
    """The generator alone decides: equal seeds give equal tokens, other seeds give others."""
    # A guess stays once in two, another of 900 tokens replaces it: two lists are alike by accident
    # less than once in 1000, sixteen pairs of them once in 10**48.
    case = half_and_half(draw)
    seeds = [secret(draw) for _ in range(16)]

    first, again = ([case.emit(student, seed) for seed in seeds] for _ in range(2))
    different = [case.emit(student, seed + 1) for seed in seeds]

    same = sum(x == y for x, y in zip(first, again, strict=True))
    check(first == again, f"only {same} of 16 seeds gave the same tokens again, expected 16")
    check(first != different, "16 seeds and 16 others gave the same tokens, expected others")
    kinds = len({tuple(tokens) for tokens in first})
    check(kinds > 1, f"16 seeds gave {kinds} list of tokens, expected several")


def half_and_half(draw: Any) -> Case:
    """Six guesses of 97 tokens; the target says these in half of the cases, else 900 others."""
    q, p = torch.zeros(6, 997), torch.zeros(7, 997)
    q[:, :97] = 1 / 97
    p[:, :97], p[:, 97:] = 1 / 194, 1 / 1800
    return Case(draw.tokens(97, 6), q, p)


@task("sample", contract=20)
def test_generator_goes_on_from_call_to_call(student, draw):
    """Each call takes the generator where the last one left it, and leaves it further on."""
    seed, vocab = secret(draw), 997
    spread = torch.full((1, vocab), 1 / vocab)
    for case in (Case([], torch.zeros(0, vocab), spread), half_and_half(draw)):
        one, another = student.generator(seed), student.generator(seed)

        first, second = (
            [case.emit(student, None, generator=each) for _ in range(8)] for each in (one, another)
        )

        # Two of eight draws from 997 are alike by accident often, all of them never.
        kinds = len({*map(tuple, first)})
        say = f"eight calls with one generator gave {kinds} different lists, expected about 8"
        check(kinds > 3, say)
        assert_equal(second, first, "what comes from another generator of that seed")


@task("sample", contract=21)
def test_generator_leaves_the_global_one_alone(student, draw):
    """What is drawn without a generator does not depend on the seed of one given before."""
    case = half_and_half(draw)
    seeds = [secret(draw) for _ in range(6)]

    def without(seed: int) -> list[int]:
        case.emit(student, seed)
        return case.emit(student, None)

    first, again = ([without(seed) for seed in seeds] for _ in range(2))

    # Six pairs of lists, alike by accident as above: once in 10**18.
    say = "calls without a generator gave the same tokens whenever one with a seed came before"
    check(first != again, f"{say}, expected others")


@task("sample", contract=21)
def test_generator_may_be_missing(student, draw):
    """Without a generator torch's global one serves."""
    q, p = torch.eye(5)[[0]], torch.zeros(2, 5)
    p[:, 1:] = 0.25
    case = Case([0], q, p)

    found = {tuple(case.emit(student, None)) for _ in range(60)}

    # 60 draws from 4 equal chances miss one of them once in 10**7, two once in 10**17.
    check(len(found) > 2, f"60 calls without a generator gave {len(found)} lists, expected 4")


@task("sample", contract=22)
def test_probabilities_are_left_alone(student, draw):
    """Views are as good as tensors; no byte of them, nor beside them, is modified."""
    vocab = 5
    for place in (0, 1, 2, 3) * 3:
        p = draw.normal(vocab, 6, scale=1.5).softmax(0)
        q = p.clone()
        draft = draw.tokens(vocab, 3)
        if place < 3:
            q[:, place] = draw.normal(vocab, scale=1.5).softmax(0) / 2
            q[draft[place], place] += 0.5
            p[draft[place], place] = 0
            p[:, place] /= p[:, place].sum()
            p[draft[place], place] = 1e-13  # it stays once in 10**12
        case = Case(draft, q[:, :3].T, p[:, :4].T)
        watched = student.watch(case.q), student.watch(case.p)

        got = case.emit(student, secret(draw), *watched)

        assert_unmodified(watched[0], "draft_probs")
        assert_unmodified(watched[1], "target_probs")
        check(len(got) == place + 1, f"{len(got)} tokens come out, expected {place + 1}")


@task("sample", contract=22)
def test_guesses_are_left_alone(student, draw):
    """The list of guesses is not modified, whatever becomes of them, and is not the result."""
    for k in (0, 3):
        for _ in range(12 if k else 2):
            case = random_case(draw, k, 4)
            watched = student.watch(case.draft)

            got = student.accept_sample(watched, case.q, case.p, seeded(secret(draw)))

            expect(got, list[int], "the tokens to emit")
            assert_unmodified(watched, "draft")


# --- generate --------------------------------------------------------------------------------


class Seat:
    """A model as the submission may call it."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    @property
    def length(self) -> int:
        return self.reader.length

    def forward(self, tokens: Any = None, *rest: Any) -> Tensor:
        try:
            return self.reader.forward(tokens)
        except Misuse as misuse:
            raise Mismatch(str(misuse)) from None

    def rewind(self, n: Any = None) -> None:
        try:
            self.reader.rewind(n)
        except Misuse as misuse:
            raise Mismatch(str(misuse)) from None


@dataclass
class Run:
    """A generation and all that was seen of it."""

    target: Reader
    draft: Reader
    diary: list[Call]
    prompt: list[int]
    tokens: list[int]
    stats: dict[str, int]


def run(
    student: Any,
    target: Rows,
    draft: Rows,
    prompt: list[int],
    k: int,
    count: int,
    eos: Collection[int] = (),
    *args: Any,
    vocab: int = VOCAB,
    noted: bool = True,
    lent_prompt: Any = None,
    lent_eos: Any = None,
    **named: Any,
) -> Run:
    """Generate with two models of ours, and check the form of the answer."""
    diary: list[Call] = []
    both = [
        Reader(name, vocab, rows, diary if noted else None)
        for name, rows in (("target", target), ("draft", draft))
    ]
    names = ("forward", "rewind"), ("length",)
    lent = [student.lend(Seat(each), *names, steady=True) for each in both]
    prompt_given = prompt if lent_prompt is None else lent_prompt
    eos_given = list(eos) if lent_eos is None else lent_eos
    got = student.speculative_generate(*lent, prompt_given, k, count, eos_given, *args, **named)
    expect(got, tuple, "the result")
    check(len(got) == 2, "the result should be two things: tokens and statistics")
    tokens = expect(got[0], list[int], "the tokens")
    stats = expect(got[1], dict, "the statistics")
    for name in ("target_calls", "drafted", "accepted"):
        check(name in stats, f"the statistics lack {name}")
        expect(stats[name], int, name)
    return Run(*both, diary, prompt, tokens, stats)


@dataclass(frozen=True)
class Story:
    """What a target says after a prompt, and a draft that is right now and then."""

    target: Script
    draft: Rows
    prompt: list[int]
    tokens: list[int]  # all that the target says, without the EOS
    ending: list[int]  # prompt, tokens, and the EOS if one ended them

    def rounds(self, k: int) -> int:
        """The rounds that the story takes, the EOS included."""
        text = self.ending
        return rounds_needed(self.draft, text, len(self.prompt), len(text), k)


def story(
    draw: Any,
    kind: str,
    count: int,
    length: int = 5,
    end: int | None = None,
    instead: int = -1,
    prompt: list[int] | None = None,
) -> Story:
    """Make one; with ``end`` the target says an EOS as its token of that number, then another."""
    prompt = prompt or [token for token in draw.tokens(VOCAB, 60) if token not in EOS][:length]
    last = [] if end is None else draw.shuffled(EOS)[:2]
    endings = dict(enumerate(last, len(prompt) + (end or 0)))
    target = Script(VOCAB, secret(draw), EOS, endings)
    draft = disagree(target, judgement(kind, target), instead)
    eos = EOS if end is not None else []
    tokens = greedy(target, prompt, count, eos)
    ended = last[:1] if len(tokens) < count else []
    return Story(target, draft, prompt, tokens, prompt + tokens + ended)


def judgement(kind: str, target: Script) -> Callable[[Sequence[int]], bool]:
    """When the draft is right: of what is hashed, "fair" takes three in four."""
    rules: dict[str, Callable[[Sequence[int]], bool]] = {
        "perfect": lambda history: True,
        "useless": lambda history: False,
        "alternating": lambda history: len(history) % 2 == 0,
        "fair": lambda history: target.state(history) // 7 % 4 > 0,
    }
    return rules[kind]


def tell(student: Any, tale: Story, k: int, count: int, eos: Collection[int] = EOS) -> Run:
    return run(student, tale.target, tale.draft, tale.prompt, k, count, eos)


def assert_text(done: Run, tale: Story) -> None:
    right = alike(done.tokens, tale.tokens)
    say = f"{len(done.tokens)} tokens come back, expected {len(tale.tokens)}"
    check(len(done.tokens) <= len(tale.tokens), f"{say}: that is what the target says alone")
    say = f"the text has {len(done.tokens)} of {len(tale.tokens)} tokens"
    check(done.tokens == tale.tokens, f"{say}, and only the first {right} are the target's")


each_draft = pytest.mark.parametrize("kind", DRAFTS)
# k, the limit, and where the target says an EOS, if it says one. Text ends at the limit or at an
# EOS, in a guess, as the target's own token behind all guesses, or in the place of one.
WAYS: list[tuple[int, int, int | None]] = [
    (0, 5, None),
    (1, 12, None),
    (2, 30, 2),
    (3, 13, None),
    (3, 30, 1),
    (3, 30, 4),
    (4, 11, None),
    (5, 30, 8),
    (6, 4, None),
    (2, 6, 5),
    (3, 6, 6),
]


def each_way(student: Any, draw: Any, kind: str) -> Iterable[tuple[Run, Story, int]]:
    """Let the submission tell a story in each of these ways."""
    for k, count, end in WAYS:
        tale = story(draw, kind, count, end=end)
        yield tell(student, tale, k, count), tale, k


@task("generate", contract=23, gate=True)
@each_draft
def test_text_is_the_targets(student, draw, kind):
    """At temperature 0 the text is the one that the target writes alone, whatever the draft."""
    for k in range(9):
        tale = story(draw, kind, 12, length=3 + k)

        assert_text(tell(student, tale, k, 12, []), tale)


@task("generate", contract=24)
def test_best_token_by_little(student, draw):
    """At temperature 0 a model's best token is meant, however close its second is."""

    def close(rows: Rows) -> Rows:
        def moved(history: Sequence[int]) -> list[float]:
            row = [*rows(history)]
            best = row.index(max(row))
            row[best - 1] = row[best] - 2**-10
            return row

        return moved

    for k in (0, 3):
        tale = story(draw, "fair", 19)
        models = close(tale.target), close(tale.draft)

        assert_text(run(student, *models, tale.prompt, k, 19), tale)


@task("generate", contract=25)
@each_draft
def test_calls_of_the_target(student, draw, kind):
    """The target is called once a round, and once more at most."""
    for k in (0, 1, 3, 6):
        # So long that a round with one guess less would take two calls more, where it matters.
        count = max(23, 2 * k * (k + 1)) if kind == "perfect" else 15
        tale = story(draw, kind, count)
        done = tell(student, tale, k, count)

        rounds = tale.rounds(k)
        say = f"{done.target.calls} calls of the target for {rounds} rounds of {k} guesses"
        check(done.target.calls <= 1 + rounds, f"{say}, expected {1 + rounds} at most")


@task("generate", contract=25)
def test_calls_of_the_target_for_many_guesses(student, draw):
    """A round may have forty guesses, and calls the target once for all of them."""
    tale = story(draw, "perfect", 246)
    done = tell(student, tale, 40, 246)

    say = f"{done.target.calls} calls of the target for 6 rounds of 40 guesses"
    check(done.target.calls <= 7, f"{say}, expected 7 at most")


@task("generate", contract=25)
@pytest.mark.parametrize("kind", ["perfect", "alternating"])
def test_target_is_not_called_behind_the_end(student, draw, kind):
    """Once the text has ended, by an EOS, the target is not called again."""
    for k in (1, 3, 6):
        for end in (1, 4, 5):
            tale = story(draw, kind, 30, end=end)
            done = tell(student, tale, k, 30)

            rounds = tale.rounds(k)
            say = f"{done.target.calls} calls of the target for {rounds} rounds of {k} guesses"
            say = f"{say} up to an EOS, expected {1 + rounds} at most"
            check(done.target.calls <= 1 + rounds, say)


@task("generate", contract=26)
@each_draft
def test_calls_of_the_draft(student, draw, kind):
    """The draft is called k + 1 times a round at most."""
    for k in (1, 2, 4, 7):
        count = 11 if kind == "useless" else 23
        tale = story(draw, kind, count)
        done = tell(student, tale, k, count)

        rounds = tale.rounds(k)
        limit = 1 + rounds * (k + 1)
        say = f"{done.draft.calls} calls of the draft for {rounds} rounds of {k} guesses"
        check(done.draft.calls <= limit, f"{say}, expected {limit} at most")


@task("generate", contract=27)
@each_draft
def test_caches_at_every_call(student, draw, kind):
    """When a model is called its cache holds the text, perhaps not all, and the current guess."""
    for done, _, k in each_way(student, draw, kind):
        assert_placed(done, k)


def assert_placed(done: Run, k: int) -> None:
    problem = misplaced(done.diary, done.prompt, done.tokens, k)
    check(not problem, problem)


@task("generate", contract=28)
@each_draft
def test_caches_at_the_end(student, draw, kind):
    """At the end both caches hold prompt and output, or a beginning of it, and nothing else."""
    for done, _, _ in each_way(student, draw, kind):
        assert_caches(done)


def assert_caches(done: Run) -> None:
    text = done.prompt + done.tokens
    for name, model in (("target", done.target), ("draft", done.draft)):
        right = alike(model.tokens, text)
        say = f"at the end the {name}'s cache holds {model.length} tokens"
        say = f"{say}, of which the first {right} are those of the text of {len(text)}"
        check(right == model.length, f"{say}, expected all to be")


@task("generate", contract=29)
@each_draft
def test_no_text_is_read_twice(student, draw, kind):
    """What a model has read stays in its cache: a round brings it no more than new tokens."""
    for k in (0, 2, 5):
        tale = story(draw, kind, 15, length=43)
        done = tell(student, tale, k, 15)

        assert_little_read_again(done, tale.rounds(k))


def assert_little_read_again(done: Run, rounds: int) -> None:
    # A token read again in each round is bad style, no more.
    for name in ("target", "draft"):
        again = read_again(done.diary, name)
        say = f"the {name} read {again} tokens again in {rounds} rounds"
        check(again <= rounds + 1, f"{say}, expected {rounds + 1} at most")


@task("generate", contract=30)
@each_draft
def test_calls_that_are_told(student, draw, kind):
    """target_calls counts every call of the target, one that reads the prompt too."""
    for done, _, _ in each_way(student, draw, kind):
        assert_calls_told(done)


def assert_calls_told(done: Run) -> None:
    told, calls = done.stats["target_calls"], done.target.calls
    check(told == calls, f"target_calls is {told}, expected {calls}")


@task("generate", contract=31)
@each_draft
def test_guesses_that_are_told(student, draw, kind):
    """drafted counts the guesses that were put to the target, however many a round had."""
    for done, _, k in each_way(student, draw, kind):
        assert_drafted(done, k)


def tallied(done: Run, k: int, eos: Collection[int]) -> set[tuple[int, int]]:
    possible = tallies(done.diary, done.prompt, done.tokens, k, eos)
    check(bool(possible), f"a call of the target brings more than the text and {k} guesses")
    return possible


def either(numbers: Iterable[int]) -> str:
    return " or ".join(map(str, sorted({*numbers})))


def assert_drafted(done: Run, k: int, eos: Collection[int] = EOS) -> None:
    possible = {drafted for drafted, _ in tallied(done, k, eos)}
    told = done.stats["drafted"]
    check(told in possible, f"drafted is {told}, expected {either(possible)}")


@task("generate", contract=32)
@each_draft
def test_accepted_guesses_that_are_told(student, draw, kind):
    """accepted counts guesses that were emitted: none rejected, behind an EOS or cut off."""
    for done, _, k in each_way(student, draw, kind):
        assert_accepted(done, k)


def assert_accepted(done: Run, k: int, eos: Collection[int] = EOS) -> None:
    possible = {accepted for _, accepted in tallied(done, k, eos)}
    told = done.stats["accepted"]
    check(told in possible, f"accepted is {told}, expected {either(possible)}")


def assert_stats(done: Run, k: int, eos: Collection[int] = EOS) -> None:
    assert_calls_told(done)
    assert_drafted(done, k, eos)
    assert_accepted(done, k, eos)


@task("generate", contract=33)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_never_beyond_max_new_tokens(student, draw, count):
    """No more than max_new_tokens come back, wherever in a round the limit lies."""
    for kind in ("perfect", "alternating"):
        for k in (1, 3, 4, 9):
            tale = story(draw, kind, count)

            assert_text(tell(student, tale, k, count), tale)


def smallest(student: Any, draw: Any, limits: Sequence[int]) -> Iterable[tuple[Run, Story, int]]:
    """Tell all stories of few tokens: by k, limit, prompt and where an EOS stands, if anywhere."""
    ways = itertools.product(limits, (0, 1, 2), (1, 2), ("perfect", "useless"), (None, 0, 1))
    for count, k, length, kind, end in ways:
        if end is None or end < count:
            tale = story(draw, kind, count, length=length, end=end)
            yield tell(student, tale, k, count), tale, k


@task("generate", contract=33)
def test_smallest_texts(student, draw):
    """None, one or two tokens come back with none, one or two guesses: in all combinations."""
    for done, tale, _ in smallest(student, draw, (0, 1, 2)):
        assert_text(done, tale)


@task("generate", contract=28)
def test_caches_behind_the_smallest_texts(student, draw):
    """Caches hold a beginning of the text behind one or two tokens too."""
    for done, _, k in smallest(student, draw, (1, 2)):
        assert_placed(done, k)
        assert_caches(done)


@task("generate", contract=33)
@pytest.mark.parametrize("heat", [0.0, 0.8])
def test_nothing_to_do(student, draw, heat):
    """With max_new_tokens = 0 there are no tokens, no guesses, and one call at most."""
    for k in (0, 1, 4):
        tale = story(draw, "perfect", 0)
        done = run(student, tale.target, tale.draft, tale.prompt, k, 0, EOS, heat)

        assert_equal(done.tokens, [], "the list of tokens")
        check(done.target.calls <= 1, f"{done.target.calls} calls of the target, expected 1 or 0")
        assert_equal(done.stats["drafted"], 0, "drafted")


@task("generate", contract=34)
@each_draft
def test_eos_ends_the_text(student, draw, kind):
    """An EOS ends the text, inside a guess, as a correction or behind all guesses."""
    for k in (0, 1, 2, 4):
        for end in (1, 2, 3, 4, 5, 8):
            tale = story(draw, kind, 30, end=end)

            assert_text(tell(student, tale, k, 30), tale)


@task("generate", contract=34)
def test_eos_at_once(student, draw):
    """If the target ends the text at once there are no tokens."""
    for kind in DRAFTS:
        for k in (0, 1, 4):
            tale = story(draw, kind, 8, end=0)

            done = tell(student, tale, k, 8)

            assert_equal(done.tokens, [], "the list of tokens")


@task("generate", contract=34)
def test_eos_is_the_last_token_allowed(student, draw):
    """An EOS right behind the last token allowed, or in its place, makes no difference."""
    for k in (1, 2, 3, 5):
        for count in (4, 5):
            for end in (count - 1, count):
                tale = story(draw, "perfect", count, end=end)

                assert_text(tell(student, tale, k, count), tale)


@task("generate", contract=35)
def test_eos_that_the_target_rejects(student, draw):
    """An EOS that the draft guesses and the target does not say ends nothing."""
    for eos in EOS:
        for kind in ("useless", "alternating", "fair"):
            for k in (1, 4):
                tale = story(draw, kind, 9, end=8, instead=eos)

                assert_text(tell(student, tale, k, 9), tale)


@task("generate", contract=35)
@pytest.mark.parametrize("k", [0, 3])
def test_eos_in_the_prompt(student, draw, k):
    """An EOS in the prompt ends nothing, whichever it is, and wherever it stands."""
    for prompt in ([EOS[0], 7, EOS[1], 9, EOS[2]], [EOS[2], 4]):
        tale = story(draw, "fair", 9, end=30, prompt=prompt)

        assert_text(tell(student, tale, k, 9), tale)


@task("generate", contract=36)
@pytest.mark.parametrize("k", [0, 2, 3])
def test_eos_ids_of_any_kind(student, draw, k):
    """EOS ids may come as a list or a tuple, in any order."""
    for _ in range(3):
        tale = story(draw, "fair", 12, end=7)
        ids = draw.shuffled(EOS)

        for eos in (ids, tuple(ids)):
            args = tale.target, tale.draft, tale.prompt, k, 12
            assert_text(run(student, *args, lent_eos=eos), tale)


@task("generate", contract=36)
@pytest.mark.parametrize("k", [0, 3])
def test_eos_ids_may_be_empty(student, draw, k):
    """Without EOS ids only the limit ends the text."""
    plain = Script(VOCAB, secret(draw), (), {8: EOS[0], 10: 0})
    tokens = greedy(plain, [1, 2, 3], 12, [])

    for eos in ([], ()):
        done = run(student, plain, plain, [1, 2, 3], k, 12, lent_eos=eos)

        assert_equal(done.tokens, tokens, "the list of tokens")


@task("generate", contract=37)
@pytest.mark.parametrize("length", [1, 2, 37])
def test_prompts_of_any_length(student, draw, length):
    """The prompt may be one token or many; its list and that of the EOS ids are not modified."""
    for k in (0, 1, 4):
        tale = story(draw, "fair", 9, length=length, end=8)
        prompt, eos = student.watch(tale.prompt), student.watch(EOS)
        models = tale.target, tale.draft

        done = run(student, *models, tale.prompt, k, 9, lent_prompt=prompt, lent_eos=eos)

        assert_text(done, tale)
        assert_unmodified(prompt, "prompt")
        assert_unmodified(eos, "eos_ids")


@task("generate", contract=37)
def test_generations_do_not_know_each_other(student, draw):
    """Nothing is left of a generation for the next one, with other models."""
    for _ in range(3):
        tale = story(draw, "alternating", 7, prompt=[3, 1, 4])
        done = tell(student, tale, 3, 7)

        assert_text(done, tale)
        assert_calls_told(done)


# --- generate, sampled -----------------------------------------------------------------------


class Pairs:
    """A law in which tokens come in pairs: all pairs have one joint law, each independent.

    The first token has its own law, the second one that depends on the first. Logits are
    temperature * log(law), moved by what came before, so that the softmax matters; where they are
    ``far`` away, exp overflows.
    """

    def __init__(
        self,
        first: list[float],
        second: list[list[float]],
        temperature: float,
        start: int,
        far: bool = False,
    ) -> None:
        self.vocab = len(first)
        self._laws = [first, second]
        self._heat = temperature
        self._start = start  # length of the prompt
        self._step = 64.0 if far else 1.0

    def __call__(self, history: Sequence[int]) -> list[float]:
        even = (len(history) - self._start) % 2 == 0
        law: Any = self._laws[0] if even else self._laws[1][history[-1]]
        shift = (len(history) * 37 + history[-1]) % 11 - 5.0
        shift *= self._step
        return [self._heat * math.log(x) + shift if x else -math.inf for x in law]

    def joint(self) -> dict[tuple[int, ...], float]:
        """The probability of each pair."""
        first, second = self._laws
        pairs = {(a, b): x * y for a, x in enumerate(first) for b, y in enumerate(second[a])}
        return {pair: chance for pair, chance in pairs.items() if chance}


# The target's and the draft's: far apart, so that half of the guesses go and
# three tokens make the residual.
FIRST = row(4, 3, 2, 2), row(4, 1, 1, 14)
SECOND = (
    [row(2, 4, 2, 3), row(3, 2, 4, 2), row(2, 2, 3, 4), row(4, 3, 2, 2)],
    [row(1, 14, 1, 4), row(4, 1, 1, 14), row(14, 1, 1, 4), row(2, 4, 12, 2)],
)
RUNS, PER_RUN = 2, 400


def assert_pairs(student: Any, draw: Any, target: Pairs, draft: Rows, k: int, heat: float) -> None:
    """Compare the joint law of two tokens in a row with the target's."""

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        for each in many_seeds(seed, RUNS):
            args = [0, 1, 0], k, PER_RUN, [], heat, seeded(each)
            done = run(student, target, draft, *args, vocab=target.vocab, noted=False)
            say = f"{len(done.tokens)} tokens come back without an EOS, expected {PER_RUN}"
            check(len(done.tokens) == PER_RUN, say)
            yield from zip(done.tokens[::2], done.tokens[1::2], strict=True)

    assert_law(draw, sample, target.joint(), "the joint law of two tokens in a row")


@task("generate", contract=39)
@pytest.mark.parametrize("heat", [0.4, 1.7])
def test_both_models_are_sampled_at_the_temperature(student, draw, heat):
    """A draft that is the target's twin has k guesses a round accepted, at any temperature."""
    rejected = 0
    for _ in range(3):
        twin = Pairs(FIRST[0], SECOND[0], 1.0, 3)
        args = [0, 1, 0], 4, 60, [], heat, seeded(secret(draw))
        done = run(student, twin, twin, *args, vocab=4)
        rejected += rejections(done)
        # Twelve rounds of five tokens; a rejection takes away four at most, so a round.
        limit = 13 + rejected
        say = f"{done.target.calls} calls of the target for 60 tokens, five a round"
        check(done.target.calls <= limit, f"{say}, expected {limit} at most")

    # Rounding may reject one guess in some millions; three of 144 are no accident.
    check(rejected <= 2, f"{rejected} guesses of 144 were rejected, expected none")


# The temperature, and what all logits lie above 0.
HEATS = [(1e-6, 0.0), (1e-3, 0.0), (0.9, 3000.0), (0.9, -3000.0), (30.0, 0.0), (1e4, 0.0)]


@task("generate", contract=38)
@pytest.mark.parametrize(("heat", "level"), HEATS)
def test_temperature_of_any_size(student, draw, heat, level):
    """Logits are divided by the temperature, tiny or large, wherever they lie."""
    law = row(8, 2, 2, 0)
    logits = [heat * math.log(x) + level if x else -math.inf for x in law]

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        def twin(history: Sequence[int]) -> list[float]:
            return logits

        args = [0, 1], 5, 180, [], heat, seeded(seed)
        done = run(student, twin, twin, *args, vocab=4, noted=False)
        return ((token,) for token in done.tokens)

    assert_law(draw, sample, {(i,): x for i, x in enumerate(law) if x}, "a token")


def rejections(done: Run) -> int:
    """Count the target's calls with a guess in the place of which the text has another token."""
    text = done.prompt + done.tokens
    calls = [call.whole for call in done.diary if call.model == "target"]
    return sum(alike(whole, text) < min(len(whole), len(text)) for whole in calls)


@task("generate", contract=41)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_books_are_right_when_sampling(student, draw, k):
    """When tokens are drawn caches, statistics and calls are as right as without."""
    target, draft = (Pairs(FIRST[i], SECOND[i], 0.9, 3) for i in range(2))
    for count in (29, 30):
        args = [0, 1, 0], k, count, [], 0.9, seeded(secret(draw))
        done = run(student, target, draft, *args, vocab=4)

        assert_placed(done, k)
        assert_caches(done)
        assert_stats(done, k, [])
        check(len(done.tokens) == count, f"{len(done.tokens)} tokens come back, expected {count}")
        calls, most = done.target.calls, 1 + len(done.tokens)
        say = f"{calls} calls of the target for {len(done.tokens)} tokens"
        check(calls <= most, f"{say}, expected {most} at most")
        say = f"{done.draft.calls} calls of the draft for {calls} of the target, with k = {k}"
        most = 1 + calls * (k + 1)
        check(done.draft.calls <= most, f"{say}, expected {most} at most")
        assert_little_read_again(done, calls)


@task("generate", contract=41)
def test_eos_when_sampling(student, draw):
    """An EOS that is drawn ends the text, and is not in it."""
    law = row(1, 5, 3, 1), [row(1, 4, 3, 2)] * 4
    lengths: list[int] = []
    for _ in range(12):
        target, draft = Pairs(*law, 1.2, 2), Pairs(FIRST[1], SECOND[1], 1.2, 2)
        args = [1, 2], 3, 400, [0], 1.2, seeded(secret(draw))
        done = run(student, target, draft, *args, vocab=4)

        check(0 not in done.tokens, "the EOS, or what lies behind it, is in the text")
        assert_caches(done)
        assert_stats(done, 3, [0])
        lengths.append(len(done.tokens))

    # Each token is an EOS with probability 1/10: 400 without one are one case in 10**18.
    say = f"a text has {max(lengths)} tokens, in which every tenth should be an EOS"
    check(max(lengths) < 400, f"{say}, expected an end")
    check(len(set(lengths)) > 1, f"twelve seeds gave texts of {lengths[0]} tokens each")


@task("generate", contract=42)
@pytest.mark.parametrize("k", [0, 3])
def test_generator_decides_the_text(student, draw, k):
    """Equal seeds give equal texts, other seeds others; without a generator texts differ too."""
    target, draft = (Pairs(FIRST[i], SECOND[i], 1.0, 3) for i in range(2))

    def text(generator: torch.Generator | None) -> list[int]:
        args = [0, 1, 0], k, 80, [], 1.0
        named = {} if generator is None else {"generator": generator}
        return run(student, target, draft, *args, vocab=4, noted=False, **named).tokens

    seeds = [secret(draw) for _ in range(2)]
    first, again = ([text(seeded(seed)) for seed in seeds] for _ in range(2))

    say = "the same seed gave another text: something else was drawn from, expected the same"
    check(first == again, say)
    # 80 tokens, none more probable than 2 in 5, agree by accident less than once in 10**30.
    check(first[0] != first[1], "two seeds gave the same text, expected others")
    free, other = ([text(seeded(seeds[0])), text(None)][1] for _ in range(2))
    say = "two texts without a generator, behind one with the same seed, are alike"
    check(free != other, f"{say}, expected others")


@task("generate", contract=42)
@pytest.mark.parametrize("k", [0, 3])
def test_generator_goes_on_from_text_to_text(student, draw, k):
    """Each text takes the generator where the last one left it, and leaves it further on."""
    target, draft = (Pairs(FIRST[i], SECOND[i], 1.0, 3) for i in range(2))
    seed = secret(draw)
    one, another = student.generator(seed), student.generator(seed)

    def text(generator: Any) -> list[int]:
        args = [0, 1, 0], k, 60, [], 1.0, generator
        return run(student, target, draft, *args, vocab=4, noted=False).tokens

    first, second = ([text(each) for _ in range(2)] for each in (one, another))

    say = "two texts from one generator are alike, as if it had not gone on, expected others"
    check(first[0] != first[1], say)
    say = "a generator of the same seed gave other texts: something else was drawn from"
    check(first == second, f"{say}, expected the same")


@task("generate", contract=40)
@pytest.mark.parametrize("k", [0, 3])
def test_logits_of_any_size(student, draw, k):
    """Logits of which exp is out of range, up or down, leave no more to chance than they say."""
    for shift in (-4e4, 0.0, 4e4):
        tale = story(draw, "fair", 11)

        def far(rows: Rows, shift: float = shift) -> Rows:
            # The second best is below by one eighth times this.
            return lambda history: [1024 * x + shift for x in rows(history)]

        args = tale.prompt, k, 11, [], 0.5, seeded(secret(draw))
        assert_text(run(student, far(tale.target), far(tale.draft), *args), tale)


# The laws take longest and come last: most wrong texts are found out before.


@task("generate", contract=38)
@pytest.mark.parametrize(("k", "heat"), [(4, 0.5)], ids=str)
def test_joint_law_of_two_tokens(student, draw, k, heat):
    """Two tokens in a row have the joint probability that the target alone would give them."""
    target, draft = (Pairs(FIRST[i], SECOND[i], heat, 3, far=True) for i in range(2))

    assert_pairs(student, draw, target, draft, k, heat)


@task("generate", contract=38)
@pytest.mark.parametrize("k", [1, 2])
def test_law_of_whole_texts(student, draw, k):
    """A short text has its probability: the first token, the last one allowed and an EOS too."""
    # EOS 0, which the draft says a little more often than the target. Laws are steep, so that no
    # other temperature looks like this one.
    target = Pairs(row(7, 12, 1), [row(1, 1, 1), row(7, 1, 12), row(7, 12, 1)], 0.3, 2)
    draft = Pairs(row(8, 3, 9), [row(1, 1, 1), row(8, 9, 3), row(8, 3, 9)], 0.3, 2)

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        for each in many_seeds(seed, 300):
            args = [1, 2], k, 3, [0], 0.3, seeded(each)
            yield tuple(run(student, target, draft, *args, vocab=3, noted=False).tokens)

    law = oracle.texts(target, 0.3, [1, 2], 3, [0])
    assert_law(draw, sample, law, "the text of three tokens or fewer")


@task("generate", contract=38)
@pytest.mark.parametrize("k", [0, 1])
def test_temperature_of_the_targets_own_tokens(student, draw, k):
    """Tokens of the target's own, behind all guesses or without one, have the temperature too."""
    # Laws so steep that no other temperature looks like this one; a twin's guesses all stay.
    first, second = row(12, 4, 2, 1), [row(1, 2, 4, 12), row(2, 12, 1, 4), row(12, 1, 4, 2)]
    twin = Pairs(first, [*second, row(4, 2, 12, 1)], 0.3, 3)

    assert_pairs(student, draw, twin, twin, k, 0.3)


@task("generate", contract=38)
def test_replacements_are_drawn_anew(student, draw):
    """What stands for a rejected guess does not depend on the number that rejected it."""
    # Half of the guesses go, all by a large number; seven tokens have equal shares of the rest.
    target, draft = (
        Pairs(row(most, *[1] * 7), [row(most, *[1] * 7)] * 8, 0.8, 3) for most in (7, 20_000)
    )

    assert_pairs(student, draw, target, draft, 2, 0.8)


@task("generate", contract=40)
def test_laws_with_zeros(student, draw):
    """What the target never says is never said; what the draft never says is said all the same."""
    target = Pairs(row(0, 2, 3), [row(1, 1, 1), row(2, 0, 3), row(1, 2, 2)], 0.8, 3)
    draft = Pairs(row(3, 4, 0), [row(1, 1, 1), row(2, 4, 0), row(0, 2, 2)], 0.8, 3)

    assert_pairs(student, draw, target, draft, 3, 0.8)


# --- speedup ---------------------------------------------------------------------------------


def assert_speedup(student: Any, acceptance: float, k: int, cost_ratio: float) -> None:
    got = expect(student.expected_speedup(acceptance, k, cost_ratio), float, "the speed-up")
    want = oracle.speedup(acceptance, k, cost_ratio)
    say = f"the speed-up is {got:.6g}, expected {want:.6g}"
    check_within(abs(got - want) / want, 1e-6, say, "the speed-up")


@task("speedup", contract=43, gate=True)
def test_tokens_of_a_round_where_guesses_are_free(student, draw):
    """Where the draft costs nothing the speed-up is the mean number of tokens of a round."""
    for k in (1, 2, 3, 4, 7):
        for chance in torch.rand(3, generator=draw.generator, dtype=torch.float64).tolist():
            assert_speedup(student, 0.05 + 0.9 * chance, k, 0.0)


@task("speedup", contract=44)
def test_tokens_of_a_round_over_its_cost(student, draw):
    """The speed-up is the mean number of tokens of a round over its cost in target calls."""
    for k in (1, 2, 3, 4, 7):
        for _ in range(3):
            chance, cost = torch.rand(2, generator=draw.generator, dtype=torch.float64).tolist()
            assert_speedup(student, 0.05 + 0.9 * chance, k, 0.02 + cost)


@task("speedup", contract=45)
@pytest.mark.parametrize("acceptance", [0.0, 1.0, 0.999999, 1e-9], ids=str)
def test_speedup_at_its_ends(student, acceptance):
    """Acceptance may be 0 or 1: useless guesses cost and give nothing, perfect ones give k."""
    for k in (1, 3, 8):
        for cost in (0.0, 0.125, 1.0):
            assert_speedup(student, acceptance, k, cost)


@task("speedup", contract=45)
@pytest.mark.parametrize("acceptance", [0.0, 1e-9, 0.9999, 1 - 1e-5, 1.0], ids=str)
def test_speedup_of_long_rounds_at_its_ends(student, acceptance):
    """A round may have hundreds of guesses, and each may cost next to nothing or very much."""
    for cost in (0.0, 1e-9, 1e6):
        assert_speedup(student, acceptance, 200, cost)


@task("speedup", contract=46)
def test_speedup_of_no_and_of_many_guesses(student):
    """Without guesses the speed-up is 1; many guesses, or a dear draft, make it less than 1."""
    for acceptance in (0.3, 0.8):
        for cost in (0.0, 0.4, 3.0):
            for k in (0, 25, 60):
                assert_speedup(student, acceptance, k, cost)
