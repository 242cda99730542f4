"""Hidden suite of lab 10. Both models of a generation are ours, caches and all, so every call is
seen with what its cache held; greedy texts, calls, statistics and impossible tokens are exact.

A generator crosses to the submission as a seed, so laws are judged by draws, each law counted out
in full: chi-square at p < 1e-6, and only if a second secret seed says the same. A right answer
fails one such law in 10**12 runs, and the three dozen here together less than once in 10**10.
What else depends on draws is off by accident less than once in 10**10 too, as said there.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import Mismatch, assert_equal, assert_unmodified, check, expect, task
from reference import speculative as oracle
from reference.sampling import chi_square_p
from reference.scripted import Misuse

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
    right = oracle.alike(draft, best)

    got = expect(student.accept_greedy(draft, logits), list[int], "the tokens to emit")

    check(len(got) == right + 1, f"{len(got)} tokens come out where {right} guesses are right")
    check(got[:right] == draft[:right], "the guesses that are right are not emitted as they are")
    check(
        got[-1] == best[right], "the last token is not the target's own, behind the right guesses"
    )


@task("greedy", gate=True)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_guesses_are_kept_up_to_the_first_wrong_one(student, draw, k):
    """The right guesses are emitted up to the first wrong one, then the target's own token."""
    for right in range(k + 1):
        best = draw.tokens(VOCAB, k + 1)
        draft = best[:right] + others(draw, best[right:k])

        assert_greedy(student, draft, best, logits_for(draw, best))


@task("greedy", weight=2)
def test_nothing_follows_a_wrong_guess(student, draw):
    """A guess behind a wrong one does not count, even if the target would agree with it."""
    for wrong in range(6):
        best = draw.tokens(VOCAB, 7)
        draft = best[:6]
        draft[wrong] = others(draw, [best[wrong]])[0]

        assert_greedy(student, draft, best, logits_for(draw, best))


@task("greedy")
def test_all_right_earns_one_more(student, draw):
    """When all k guesses are right, the last row gives a token more."""
    for k in (1, 4, 13):
        best = draw.tokens(VOCAB, k + 1)

        assert_greedy(student, best[:k], best, logits_for(draw, best))


@task("greedy")
def test_no_guess_at_all(student, draw):
    """With k = 0 the target's token is emitted."""
    for _ in range(3):
        best = draw.tokens(VOCAB, 1)
        assert_greedy(student, [], best, logits_for(draw, best))


@task("greedy")
def test_guess_that_is_right_elsewhere(student, draw):
    """A guess is judged by its own row: the target's token one place away does not help it."""
    best = draw.shuffled(range(VOCAB))[:7]

    assert_greedy(student, best[1:7], best, logits_for(draw, best))
    assert_greedy(student, [best[0], *best[:5]], best, logits_for(draw, best))


@task("greedy")
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


@task("greedy")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_logits_of_any_kind(student, draw, dtype):
    """Logits may be of any dtype and sign, -inf among them, and a view of something larger."""
    for shift in (-300.0, 0.0, 300.0):
        best = draw.tokens(VOCAB, 5)
        base = draw.normal(VOCAB, 9, scale=2) + shift
        base[draw.integers(0, 2, VOCAB, 9) == 1] = -math.inf
        base[best, torch.arange(5)] = shift + 40
        watched = student.watch(base.to(dtype)[:, :5].T)

        assert_greedy(student, [*best[:2], *others(draw, best[2:4])], best, watched)
        assert_unmodified(watched, "target_logits")


@task("greedy")
def test_draft_is_left_alone(student, draw):
    """The list of guesses is not modified."""
    for right in (0, 2, 4):
        best = draw.tokens(VOCAB, 5)
        watched = student.watch(best[:right] + others(draw, best[right:4]))

        expect(student.accept_greedy(watched, logits_for(draw, best)), list[int])

        assert_unmodified(watched, "draft")


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
        got = expect(
            student.accept_sample(self.draft, q, p, generator), list[int], "the tokens to emit"
        )
        check(0 < len(got) <= len(self.draft) + 1, "not between 1 and k + 1 tokens come out")
        check(all(0 <= token < self.p.shape[1] for token in got), "a token is outside 0..V-1")
        check(got[:-1] == self.draft[: len(got) - 1], "all but the last token must be the guesses")
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
    for _ in range(2):
        found = Counter(sample(secret(draw)))
        check(not found.keys() - law.keys(), f"{what}: something came out that has probability 0")
        counts, chances = pooled(found, law)
        if chi_square_p(counts, chances) >= 1e-6:
            return
    raise Mismatch(f"{what} does not have the probabilities that it should have")


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


def assert_outcomes(student: Any, draw: Any, case: Case, times: int = 900) -> None:
    """Compare how often each list of tokens is emitted with its chance."""

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        seeds = torch.randint(0, 2**31, (times,), generator=seeded(seed)).tolist()
        return [tuple(case.emit(student, each)) for each in seeds]

    assert_law(draw, sample, case.law(), "the list of emitted tokens")


def random_case(draw: Any, k: int, vocab: int) -> Case:
    """A case in which every guess may stay or go: the draft likes it more than the target."""
    q, p = rows_of(draw, k, vocab), rows_of(draw, k + 1, vocab)
    draft = [int((x / y).argmax()) for x, y in zip(q, p[:k], strict=True)]
    return Case(draft, q, p)


@task("sample", gate=True)
def test_one_guess_by_the_law(student, draw):
    """A guess stays with probability min(1, p/q), and else one from the residual replaces it."""
    case = Case.of([2], [row(2, 3, 5, 1)], [row(4, 1, 2, 4), row(1, 2, 3, 3)])

    assert_outcomes(student, draw, case, 1500)


@task("sample", weight=3)
@pytest.mark.parametrize(("k", "vocab"), [(1, 5), (2, 3), (2, 4), (3, 3), (5, 2)], ids=str)
def test_every_list_of_tokens_by_its_probability(student, draw, k, vocab):
    """Each list that may be emitted for k guesses comes out with its probability."""
    assert_outcomes(student, draw, random_case(draw, k, vocab))


@task("sample", weight=2)
def test_guesses_are_judged_independently(student, draw):
    """Each guess is judged by a random number of its own, and what replaces it by another."""
    even = row(1, 1, 1, 1, 1, 1)
    half = row(6, 1, 1, 1, 1, 2)
    case = Case.of([0, 0, 0], [half] * 3, [row(3, 2, 2, 2, 2, 1)] * 3 + [even])

    assert_outcomes(student, draw, case, 1800)


@task("sample", weight=2)
def test_first_token_has_the_targets_law(student, draw):
    """Over guesses drawn from the draft, the first token emitted is distributed as the target's."""
    q, p = rows_of(draw, 1, 6, 0.03), rows_of(draw, 2, 6, 0.03)

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        generator = seeded(seed)
        guesses = torch.multinomial(q[0], 1200, replacement=True, generator=generator).tolist()
        seeds = torch.randint(0, 2**31, (1200,), generator=generator).tolist()
        for guess, each in zip(guesses, seeds, strict=True):
            yield (Case([guess], q, p).emit(student, each)[0],)

    law = {(token,): chance for token, chance in enumerate(p[0].double().tolist())}
    assert_law(draw, sample, law, "the first emitted token")


@task("sample", weight=2)
def test_guess_that_the_target_likes_more_stays(student, draw):
    """A guess that the target finds at least as probable as the draft is always accepted."""
    for _ in range(25):
        q, p = rows_of(draw, 4, 7), rows_of(draw, 5, 7)
        draft = [int((x / y).argmax()) for x, y in zip(p[:4], q, strict=True)]
        case = Case(draft, q, p)

        check(len(case.emit(student, secret(draw))) == 5, "a guess with p > q was rejected")


@task("sample", weight=2)
def test_impossible_guess_never_stays(student, draw):
    """A guess that the target never says is replaced, and nothing follows it."""
    for place in (0, 1, 3):
        for _ in range(12):
            p = rows_of(draw, 5, 7)
            draft = draw.tokens(7, 4)
            p[place, draft[place]] = 0
            p[place] /= p[place].sum()
            q = p[:4].clone()
            q[place] = rows_of(draw, 1, 7)[0]

            got = Case(draft, q, p).emit(student, secret(draw))

            check(len(got) == place + 1, "what the target never says must end the round there")
            allowed = bool(p[place, got[-1]] > q[place, got[-1]])
            check(allowed, "the replacement is a token that the draft says often enough already")


@task("sample")
def test_draft_that_never_says_a_token(student, draw):
    """What the draft never says comes by way of the residual, as often as the target says it."""
    case = Case.of(
        [1, 1], [row(0, 5, 3, 0, 2)] * 2, [row(2, 3, 1, 3, 1)] * 2 + [row(0, 1, 0, 2, 0)]
    )

    assert_outcomes(student, draw, case)


@task("sample")
def test_nothing_in_common(student, draw):
    """If target and draft never say the same, every first guess is replaced by the target's law."""
    q, p = row(3, 0, 2, 0, 0, 4), row(0, 2, 0, 5, 3, 0)
    case = Case.of([5, 0, 2], [q] * 3, [p] * 4)

    assert_outcomes(student, draw, case)


@task("sample", weight=2)
def test_equal_distributions_accept_everything(student, draw):
    """If target and draft agree every guess stays, and the token after them is the last row's."""
    p = rows_of(draw, 5, 6)
    case = Case([int(x.argmin()) for x in p[:4]], p[:4].clone(), p)

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        seeds = torch.randint(0, 2**31, (500,), generator=seeded(seed)).tolist()
        for each in seeds:
            got = case.emit(student, each)
            check(len(got) == 5, "a guess was rejected where target and draft agree")
            yield (got[-1],)

    law = {(token,): chance for token, chance in enumerate(p[4].double().tolist())}
    assert_law(draw, sample, law, "the token after all guesses")


@task("sample")
def test_rare_guesses_stay(student, draw):
    """A guess of any rarity stays where target and draft agree: nothing is added to its chance."""
    count, rare = 60, 2e-7
    for _ in range(3):
        p = rows_of(draw, count + 1, 7)
        draft = draw.tokens(7, count)
        p[range(count), draft] = rare
        p /= p.sum(1, keepdim=True)

        got = Case(draft, p[:count].clone(), p).emit(student, secret(draw))

        check(len(got) == count + 1, "a rare guess was rejected where target and draft agree")


@task("sample")
def test_small_residual(student, draw):
    """Where target and draft differ by little the residual is that little, and nothing else."""
    share, vocab = 2.0**-13, 6145  # all sums of shares are exact in float32
    for _ in range(8):
        often, guess = draw.shuffled(range(vocab))[:2]
        q = torch.full((1, vocab), share)
        q[0, often] = 0.25
        p = q.repeat(2, 1)
        p[0, guess] = 0
        p[0, often] += share

        got = Case([guess], q, p).emit(student, secret(draw))

        assert_equal(got, [often], "the list of tokens")


@task("sample")
def test_without_guesses_the_target_speaks(student, draw):
    """With k = 0 a token of the target's law is emitted."""
    case = Case([], torch.zeros(0, 5), rows_of(draw, 1, 5))

    assert_outcomes(student, draw, case, 600)


@task("sample")
def test_certain_tokens(student, draw):
    """Where target and draft are sure of themselves nothing is left to chance."""
    best = draw.shuffled(range(9))[:4]
    sure = torch.eye(9)[best]

    for right in range(4):
        draft = best[:right] + [token for token in others(draw, best[right:3], 9)]
        got = Case(draft, torch.eye(9)[draft], sure).emit(student, secret(draw))

        assert_equal(got, best[: right + 1], "the list of tokens")


@task("sample", weight=2)
def test_seed_decides(student, draw):
    """The generator alone decides: equal seeds give equal tokens, other seeds give others."""
    # A guess stays once in two, another of 900 tokens replaces it: two lists are alike by accident
    # less than once in 1000, sixteen pairs of them once in 10**48.
    case = half_and_half(draw)
    seeds = [secret(draw) for _ in range(16)]

    first, again = ([case.emit(student, seed) for seed in seeds] for _ in range(2))
    different = [case.emit(student, seed + 1) for seed in seeds]

    check(first == again, "the same seed gave other tokens: something else was drawn from")
    check(first != different, "sixteen seeds and sixteen others gave the same tokens")
    check(len({tuple(tokens) for tokens in first}) > 1, "sixteen seeds gave the same tokens")


def half_and_half(draw: Any) -> Case:
    """Six guesses of 97 tokens; the target says these in half of the cases, else 900 others."""
    q, p = torch.zeros(6, 997), torch.zeros(7, 997)
    q[:, :97] = 1 / 97
    p[:, :97], p[:, 97:] = 1 / 194, 1 / 1800
    return Case(draw.tokens(97, 6), q, p)


@task("sample")
def test_generator_leaves_the_global_one_alone(student, draw):
    """What is drawn without a generator does not depend on the seed of one given before."""
    case = half_and_half(draw)
    seeds = [secret(draw) for _ in range(6)]

    def without(seed: int) -> list[int]:
        case.emit(student, seed)
        return case.emit(student, None)

    first, again = ([without(seed) for seed in seeds] for _ in range(2))

    # Six pairs of lists, alike by accident as above: once in 10**18.
    check(first != again, "a call with a generator seeds torch's global one")


@task("sample", weight=2)
def test_generator_goes_on_from_call_to_call(student, draw):
    """Each call takes the generator where the last one left it, and leaves it further on."""
    seed, vocab = secret(draw), 997
    case = Case([], torch.zeros(0, vocab), torch.full((1, vocab), 1 / vocab))
    one, another = student.generator(seed), student.generator(seed)

    first, second = (
        [case.emit(student, None, generator=each) for _ in range(8)] for each in (one, another)
    )

    # Two of eight draws from 997 are alike by accident often, all of them never.
    check(len({*map(tuple, first)}) > 3, "draws from one generator gave the same token each time")
    assert_equal(second, first, "what comes from another generator of that seed")


@task("sample")
def test_generator_may_be_missing(student, draw):
    """Without a generator torch's global one serves."""
    q, p = torch.eye(5)[[0]], torch.zeros(2, 5)
    p[:, 1:] = 0.25
    case = Case([0], q, p)

    found = {tuple(case.emit(student, None)) for _ in range(60)}

    # 60 draws from 4 equal chances miss one of them once in 10**7, two once in 10**17.
    check(len(found) > 2, "60 calls without a generator gave hardly any variety")


@task("sample", weight=2)
def test_many_tokens_and_views(student, draw):
    """The rules hold for a large vocabulary; views are as good as tensors and are left alone."""
    vocab = 5003
    for place in range(4):
        p = (draw.normal(vocab, 6, scale=1.5)).softmax(0)
        q = p.clone()
        draft = draw.tokens(vocab, 3)
        if place < 3:
            q[:, place] = draw.normal(vocab, scale=1.5).softmax(0) / 2
            q[draft[place], place] += 0.5
            p[draft[place], place] = 0
            p[:, place] /= p[:, place].sum()
        case = Case(draft, q[:, :3].T, p[:, :4].T)
        watched = student.watch(case.q), student.watch(case.p)

        got = case.emit(student, secret(draw), *watched)

        assert_unmodified(watched[0], "draft_probs")
        assert_unmodified(watched[1], "target_probs")
        check(len(got) == place + 1, "not as many tokens come out as there must")
        allowed = place == 3 or bool(case.p[place, got[-1]] > case.q[place, got[-1]])
        check(allowed, "the replacement is a token that the draft says often enough already")


@task("sample")
def test_guesses_are_left_alone(student, draw):
    """The list of guesses is not modified, whatever becomes of them."""
    for _ in range(12):
        case = random_case(draw, 3, 4)
        watched = student.watch(case.draft)

        got = student.accept_sample(watched, case.q, case.p, seeded(secret(draw)))

        expect(got, list[int], "the tokens to emit")
        assert_unmodified(watched, "draft")


# --- generate --------------------------------------------------------------------------------


class Seat:
    """A model as the submission may call it."""

    def __init__(self, reader: oracle.Reader) -> None:
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

    target: oracle.Reader
    draft: oracle.Reader
    diary: list[oracle.Call]
    prompt: list[int]
    tokens: list[int]
    stats: dict[str, int]


def run(
    student: Any,
    target: oracle.Rows,
    draft: oracle.Rows,
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
    diary: list[oracle.Call] = []
    both = [
        oracle.Reader(name, vocab, rows, diary if noted else None)
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

    target: oracle.Script
    draft: oracle.Rows
    prompt: list[int]
    tokens: list[int]  # all that the target says, without the EOS
    ending: list[int]  # prompt, tokens, and the EOS if one ended them

    def rounds(self, k: int) -> int:
        """The rounds that the story takes, the EOS included."""
        text = self.ending
        return oracle.rounds_needed(self.draft, text, len(self.prompt), len(text), k)


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
    target = oracle.Script(VOCAB, secret(draw), EOS, endings)
    draft = oracle.disagree(target, judgement(kind, target), instead)
    eos = EOS if end is not None else []
    tokens = oracle.greedy(target, prompt, count, eos)
    ended = last[:1] if len(tokens) < count else []
    return Story(target, draft, prompt, tokens, prompt + tokens + ended)


def judgement(kind: str, target: oracle.Script) -> Callable[[Sequence[int]], bool]:
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
    check(len(done.tokens) <= len(tale.tokens), "more tokens come back than the target says alone")
    assert_equal(done.tokens, tale.tokens, "the list of tokens")


each_draft = pytest.mark.parametrize("kind", DRAFTS)


@task("generate", gate=True)
@each_draft
def test_text_is_the_targets(student, draw, kind):
    """At temperature 0 the text is the one that the target writes alone, whatever the draft."""
    for k in range(9):
        tale = story(draw, kind, 19, length=3 + k)

        assert_text(tell(student, tale, k, 19, []), tale)


@task("generate")
def test_best_token_by_little(student, draw):
    """At temperature 0 a model's best token is meant, however close its second is."""

    def close(rows: oracle.Rows) -> oracle.Rows:
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


@task("generate", weight=3)
@each_draft
def test_calls_of_the_target(student, draw, kind):
    """The target is called once a round, and once more at most."""
    for k in (0, 1, 3, 6):
        # So long that a round with one guess less would take two calls more.
        count = max(23, 2 * k * (k + 1))
        tale = story(draw, kind, count)
        done = tell(student, tale, k, count)

        rounds = tale.rounds(k)
        check(
            done.target.calls <= 1 + rounds, f"{done.target.calls} calls for {rounds} rounds, k={k}"
        )


@task("generate", weight=2)
@each_draft
def test_calls_of_the_draft(student, draw, kind):
    """The draft is called k + 1 times a round at most."""
    for k in (1, 2, 4, 7):
        tale = story(draw, kind, 23)
        done = tell(student, tale, k, 23)

        limit = 1 + tale.rounds(k) * (k + 1)
        check(done.draft.calls <= limit, f"{done.draft.calls} calls of the draft, at k={k}")


@task("generate", weight=3)
@each_draft
def test_caches_at_every_call(student, draw, kind):
    """When a model is called its cache holds the text, perhaps not all, and the current guess."""
    for k in (0, 1, 3, 6):
        tale = story(draw, kind, 21)
        done = tell(student, tale, k, 21)

        problem = oracle.misplaced(done.diary, tale.prompt, tale.tokens, k)
        check(not problem, problem)


@task("generate", weight=2)
@each_draft
def test_caches_at_the_end(student, draw, kind):
    """At the end both caches hold prompt and output, or a beginning of it, and nothing else."""
    for k in (0, 1, 2, 5):
        for count in (11, 12):
            tale = story(draw, kind, count)

            assert_caches(tell(student, tale, k, count))


def assert_caches(done: Run) -> None:
    text = done.prompt + done.tokens
    for name, model in (("target", done.target), ("draft", done.draft)):
        right = oracle.alike(model.tokens, text) == model.length
        check(right, f"at the end the {name}'s cache holds what is not in the text")


@task("generate", weight=3)
@each_draft
def test_statistics(student, draw, kind):
    """target_calls, drafted and accepted are what happened."""
    for k in (0, 1, 3, 8):
        tale = story(draw, kind, 22)

        assert_stats(tell(student, tale, k, 22), k)


def assert_stats(done: Run, k: int, eos: Collection[int] = EOS) -> None:
    calls = done.target.calls
    check(done.stats["target_calls"] == calls, f"target_calls is wrong: there were {calls}")
    possible = oracle.tallies(done.diary, done.prompt, done.tokens, k, eos)
    check(bool(possible), f"a call of the target brings more than the text and {k} guesses")
    drafted, accepted = done.stats["drafted"], done.stats["accepted"]
    check(drafted in {d for d, _ in possible}, "drafted is not the guesses put to the target")
    check((drafted, accepted) in possible, "accepted is not the guesses that were emitted")


@task("generate", weight=2)
@each_draft
def test_no_text_is_read_twice(student, draw, kind):
    """What a model has read stays in its cache: a round brings it no more than new tokens."""
    for k in (0, 2, 5):
        tale = story(draw, kind, 17, length=43)
        done = tell(student, tale, k, 17)

        assert_little_read_again(done, tale.rounds(k))


def assert_little_read_again(done: Run, rounds: int) -> None:
    # A token read again in each round is bad style, no more.
    for name in ("target", "draft"):
        again = oracle.read_again(done.diary, name)
        check(again <= rounds + 1, f"the {name} read {again} tokens again in {rounds} rounds")


@task("generate", weight=2)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_never_beyond_max_new_tokens(student, draw, count):
    """No more than max_new_tokens come back, wherever in a round the limit lies."""
    for kind in ("perfect", "alternating", "useless"):
        for k in (1, 3, 4, 9):
            tale = story(draw, kind, count)
            done = tell(student, tale, k, count)

            assert_text(done, tale)
            assert_caches(done)
            assert_stats(done, k)


@task("generate", weight=3)
@each_draft
def test_eos_ends_the_text(student, draw, kind):
    """An EOS ends the text, inside a guess, as a correction or behind all guesses."""
    for k in (0, 1, 2, 4):
        for end in (1, 2, 3, 4, 5, 8):
            tale = story(draw, kind, 30, end=end)

            assert_text(tell(student, tale, k, 30), tale)


@task("generate", weight=2)
@each_draft
def test_books_are_right_after_an_eos(student, draw, kind):
    """After an EOS too the caches hold text alone and the statistics count what was emitted."""
    for k in (1, 3, 6):
        for end in (1, 2, 4, 5, 8):
            tale = story(draw, kind, 30, end=end)
            done = tell(student, tale, k, 30)

            assert_text(done, tale)
            assert_caches(done)
            assert_stats(done, k)
            rounds = tale.rounds(k)
            check(done.target.calls <= 1 + rounds, "the target is called after the text has ended")


@task("generate")
def test_eos_at_once(student, draw):
    """If the target ends the text at once there are no tokens."""
    for kind in DRAFTS:
        for k in (0, 1, 4):
            tale = story(draw, kind, 8, end=0)

            done = tell(student, tale, k, 8)

            assert_equal(done.tokens, [], "the list of tokens")
            assert_caches(done)


@task("generate")
def test_eos_is_the_last_token_allowed(student, draw):
    """An EOS right behind the last token allowed, or in its place, makes no difference."""
    for k in (1, 2, 3, 5):
        for count in (4, 5, 6):
            for end in (count - 1, count):
                tale = story(draw, "perfect", count, end=end)
                done = tell(student, tale, k, count)

                assert_text(done, tale)
                assert_caches(done)
                assert_stats(done, k)


@task("generate", weight=2)
def test_eos_that_the_target_rejects(student, draw):
    """An EOS that the draft guesses and the target does not say ends nothing."""
    for eos in EOS:
        for kind in ("useless", "alternating", "fair"):
            for k in (1, 2, 5):
                tale = story(draw, kind, 13, end=11, instead=eos)
                done = tell(student, tale, k, 13)

                assert_text(done, tale)
                assert_caches(done)
                assert_stats(done, k)


@task("generate")
def test_eos_ids_may_be_empty_or_in_the_prompt(student, draw):
    """Without EOS ids only the limit ends the text; an EOS in the prompt ends nothing."""
    for k in (0, 3):
        prompt = [EOS[0], 7, EOS[1], 9, EOS[2]]
        tale = story(draw, "fair", 9, end=30, prompt=prompt)
        assert_text(tell(student, tale, k, 9), tale)

        plain = oracle.Script(VOCAB, secret(draw), (), {8: EOS[0]})
        tokens = oracle.greedy(plain, [1, 2, 3], 12, [])
        done = run(student, plain, plain, [1, 2, 3], k, 12)
        assert_equal(done.tokens, tokens, "the list of tokens")


@task("generate")
def test_eos_ids_of_any_kind(student, draw):
    """EOS ids may come as a list or a tuple; the list is not modified."""
    for k in (0, 2):
        tale = story(draw, "fair", 12, end=7)
        watched = student.watch(EOS)

        for eos in (watched, tuple(EOS)):
            args = tale.target, tale.draft, tale.prompt, k, 12
            assert_text(run(student, *args, lent_eos=eos), tale)

        assert_unmodified(watched, "eos_ids")


@task("generate")
@pytest.mark.parametrize("heat", [0.0, 0.8])
def test_nothing_to_do(student, draw, heat):
    """With max_new_tokens = 0 there are no tokens, no guesses, and one call at most."""
    for k in (0, 1, 4):
        tale = story(draw, "perfect", 0)
        done = run(student, tale.target, tale.draft, tale.prompt, k, 0, EOS, heat)

        assert_equal(done.tokens, [], "the list of tokens")
        check(done.target.calls <= 1, "the target was called more than once for nothing")
        assert_stats(done, k)
        assert_caches(done)


@task("generate")
def test_prompts_of_any_length(student, draw):
    """The prompt may be one token or many; its list is not modified."""
    for length in (1, 2, 37):
        for k in (0, 1, 4):
            tale = story(draw, "fair", 9, length=length)
            watched = student.watch(tale.prompt)

            done = run(
                student, tale.target, tale.draft, tale.prompt, k, 9, EOS, lent_prompt=watched
            )

            assert_text(done, tale)
            assert_unmodified(watched, "prompt")


@task("generate")
def test_generations_do_not_know_each_other(student, draw):
    """Nothing is left of a generation for the next one, with other models."""
    for _ in range(3):
        tale = story(draw, "alternating", 7, prompt=[3, 1, 4])

        assert_text(tell(student, tale, 3, 7), tale)


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
RUNS, PER_RUN = 4, 320


def assert_pairs(
    student: Any, draw: Any, target: Pairs, draft: oracle.Rows, k: int, heat: float
) -> None:
    """Compare the joint law of two tokens in a row with the target's."""

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        for each in torch.randint(0, 2**31, (RUNS,), generator=seeded(seed)).tolist():
            args = [0, 1, 0], k, PER_RUN, [], heat, seeded(each)
            done = run(student, target, draft, *args, vocab=target.vocab, noted=False)
            check(len(done.tokens) == PER_RUN, "not max_new_tokens come back, and there is no EOS")
            yield from zip(done.tokens[::2], done.tokens[1::2], strict=True)

    assert_law(draw, sample, target.joint(), "the joint law of two tokens in a row")


@task("generate", weight=3)
@pytest.mark.parametrize("heat", [0.4, 1.7])
def test_both_models_are_sampled_at_the_temperature(student, draw, heat):
    """A draft that is the target's twin has k guesses a round accepted, at any temperature."""
    rejected = 0
    for _ in range(3):
        twin = Pairs(FIRST[0], SECOND[0], 1.0, 3)
        args = [0, 1, 0], 4, 60, [], heat, seeded(secret(draw))
        done = run(student, twin, twin, *args, vocab=4)
        assert_stats(done, 4, [])
        rejected += rejections(done)
        # Twelve rounds of five tokens; a rejection takes away four at most, so a round.
        check(done.target.calls <= 13 + rejected, "some rounds have fewer than k guesses")

    # Rounding may reject one guess in some millions; three of 144 are no accident.
    check(rejected <= 2, f"{rejected} guesses were rejected")


def rejections(done: Run) -> int:
    """Count the target's calls with a guess in the place of which the text has another token."""
    text = done.prompt + done.tokens
    calls = [call.whole for call in done.diary if call.model == "target"]
    return sum(oracle.alike(whole, text) < min(len(whole), len(text)) for whole in calls)


@task("generate", weight=2)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_books_are_right_when_sampling(student, draw, k):
    """When tokens are drawn caches, statistics and calls are as right as without."""
    target, draft = (Pairs(FIRST[i], SECOND[i], 0.9, 3) for i in range(2))
    for count in (29, 30):
        args = [0, 1, 0], k, count, [], 0.9, seeded(secret(draw))
        done = run(student, target, draft, *args, vocab=4)

        problem = oracle.misplaced(done.diary, done.prompt, done.tokens, k)
        check(not problem, problem)
        assert_caches(done)
        assert_stats(done, k, [])
        emitted = done.target.calls <= 1 + len(done.tokens)
        check(emitted, "some rounds of the target emitted nothing")
        check(done.draft.calls <= 1 + done.target.calls * (k + 1), "too many calls of the draft")
        assert_little_read_again(done, done.target.calls)


@task("generate")
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
    check(max(lengths) < 400, "no EOS ended a text in which every tenth token should be one")
    check(len(set(lengths)) > 1, "twelve seeds gave texts of one length")


@task("generate")
@pytest.mark.parametrize("k", [0, 3])
def test_generator_decides_the_text(student, draw, k):
    """Equal seeds give equal texts, other seeds others; without a generator texts differ too."""
    target, draft = (Pairs(FIRST[i], SECOND[i], 1.0, 3) for i in range(2))

    def text(generator: torch.Generator | None) -> list[int]:
        args = [0, 1, 0], k, 80, [], 1.0
        named = {} if generator is None else {"generator": generator}
        return run(student, target, draft, *args, vocab=4, **named).tokens

    seeds = [secret(draw) for _ in range(2)]
    first, again = ([text(seeded(seed)) for seed in seeds] for _ in range(2))

    check(first == again, "the same seed gave another text: something else was drawn from")
    # 80 tokens, none more probable than 2 in 5, agree by accident less than once in 10**30.
    check(first[0] != first[1], "two seeds gave the same text")
    free, other = ([text(seeded(seeds[0])), text(None)][1] for _ in range(2))
    check(free != other, "two texts without a generator, behind one with the same seed, are alike")


# The laws take longest and come last: most wrong texts are found out before.


@task("generate", weight=3)
@pytest.mark.parametrize(("k", "heat"), [(1, 1.6), (4, 0.5)], ids=str)
def test_joint_law_of_two_tokens(student, draw, k, heat):
    """Two tokens in a row have the joint probability that the target alone would give them."""
    target, draft = (Pairs(FIRST[i], SECOND[i], heat, 3, far=True) for i in range(2))

    assert_pairs(student, draw, target, draft, k, heat)


@task("generate", weight=3)
@pytest.mark.parametrize("k", [1, 2])
def test_law_of_whole_texts(student, draw, k):
    """A short text has its probability: the first token, the last one allowed and an EOS too."""
    # EOS 0, which the draft says a little more often than the target. Laws are steep, so that no
    # other temperature looks like this one.
    target = Pairs(row(7, 12, 1), [row(1, 1, 1), row(7, 1, 12), row(7, 12, 1)], 0.3, 2)
    draft = Pairs(row(8, 3, 9), [row(1, 1, 1), row(8, 9, 3), row(8, 3, 9)], 0.3, 2)

    def sample(seed: int) -> Iterable[tuple[int, ...]]:
        for each in torch.randint(0, 2**31, (400,), generator=seeded(seed)).tolist():
            args = [1, 2], k, 3, [0], 0.3, seeded(each)
            yield tuple(run(student, target, draft, *args, vocab=3, noted=False).tokens)

    law = oracle.texts(target, 0.3, [1, 2], 3, [0])
    assert_law(draw, sample, law, "the text of three tokens or fewer")


@task("generate", weight=3)
@pytest.mark.parametrize("k", [0, 1])
def test_temperature_of_the_targets_own_tokens(student, draw, k):
    """Tokens of the target's own, behind all guesses or without one, have the temperature too."""
    # Laws so steep that no other temperature looks like this one; a twin's guesses all stay.
    first, second = row(12, 4, 2, 1), [row(1, 2, 4, 12), row(2, 12, 1, 4), row(12, 1, 4, 2)]
    twin = Pairs(first, [*second, row(4, 2, 12, 1)], 0.3, 3)

    assert_pairs(student, draw, twin, twin, k, 0.3)


@task("generate", weight=2)
def test_laws_with_zeros(student, draw):
    """What the target never says is never said; what the draft never says is said all the same."""
    target = Pairs(row(0, 2, 3), [row(1, 1, 1), row(2, 0, 3), row(1, 2, 2)], 0.8, 3)
    draft = Pairs(row(3, 4, 0), [row(1, 1, 1), row(2, 4, 0), row(0, 2, 2)], 0.8, 3)

    assert_pairs(student, draw, target, draft, 3, 0.8)


# --- speedup ---------------------------------------------------------------------------------


def assert_speedup(student: Any, acceptance: float, k: int, cost_ratio: float) -> None:
    got = expect(student.expected_speedup(acceptance, k, cost_ratio), float, "the speed-up")
    want = oracle.speedup(acceptance, k, cost_ratio)
    right = math.isfinite(got) and abs(got - want) <= 1e-6 * want
    check(right, f"the speed-up is off at acceptance {acceptance}, k {k}, cost_ratio {cost_ratio}")


@task("speedup", gate=True)
def test_tokens_of_a_round_over_its_cost(student, draw):
    """The speed-up is the mean number of tokens of a round over its cost in target calls."""
    for k in (1, 2, 3, 4, 7):
        for _ in range(3):
            chance, cost = torch.rand(2, generator=draw.generator, dtype=torch.float64).tolist()
            assert_speedup(student, 0.05 + 0.9 * chance, k, 0.02 + cost)


@task("speedup", weight=2)
@pytest.mark.parametrize("acceptance", [0.0, 1.0, 0.999999], ids=str)
def test_speedup_at_its_ends(student, acceptance):
    """Acceptance may be 0 or 1: useless guesses cost and give nothing, perfect ones give k."""
    for k in (0, 1, 3, 8):
        for cost in (0.0, 0.125, 1.0):
            assert_speedup(student, acceptance, k, cost)


@task("speedup")
def test_speedup_of_no_and_of_many_guesses(student):
    """Without guesses the speed-up is 1; many guesses, or a dear draft, make it less than 1."""
    for acceptance in (0.3, 0.8):
        for cost in (0.0, 0.4, 3.0):
            for k in (0, 25, 60):
                assert_speedup(student, acceptance, k, cost)
