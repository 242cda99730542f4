"""The oracle of lab 10 against transformers' sampling, closed forms, simulation and brute force."""

import inspect
import itertools
import math
import random
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.generation import utils

from reference import speculative as oracle
from reference.sampling import chi_square_p
from reference.scripted.diary import alike, misplaced, read_again, rounds_needed, tallies
from reference.scripted.masked import Misuse
from reference.scripted.reader import Call, Reader, Script, disagree, greedy

VOCAB = 11


def distributions(seed: int, rows: int, vocab: int) -> list[list[float]]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, vocab, generator=generator, dtype=torch.float64).softmax(-1).tolist()


# --- laws ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "vocab"), [(0, 4), (1, 2), (2, 3), (3, 3)])
def test_laws_add_up_to_one(k, vocab):
    q, p = distributions(k, k, vocab), distributions(k + 9, k + 1, vocab)

    for draft in itertools.product(range(vocab), repeat=k):
        law = oracle.outcomes(draft, q, p)
        assert math.fsum(law.values()) == pytest.approx(1.0)
        assert all(emitted[:-1] == draft[: len(emitted) - 1] for emitted in law)


@pytest.mark.parametrize("zeros", [False, True])
def test_tokens_over_all_drafts_have_the_targets_law(zeros):
    vocab, k = 3, 2
    q, p = distributions(1, k, vocab), distributions(2, k + 1, vocab)
    if zeros:
        q, p = [[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]], [[0.0, 0.3, 0.7], [0.6, 0.4, 0.0], p[2]]
    joint = Counter[tuple[int, ...]]()

    for draft in itertools.product(range(vocab), repeat=k):
        chance = math.prod(row[token] for row, token in zip(q, draft, strict=True))
        if not chance:
            continue
        for emitted, share in oracle.outcomes(draft, q, p).items():
            # Where the round ended early the target goes on by itself.
            for rest in itertools.product(range(vocab), repeat=k + 1 - len(emitted)):
                laws = p[len(emitted) :]
                going_on = math.prod(row[x] for row, x in zip(laws, rest, strict=True))
                joint[emitted + rest] += chance * share * going_on

    for tokens in itertools.product(range(vocab), repeat=k + 1):
        alone = math.prod(row[token] for row, token in zip(p, tokens, strict=True))
        assert joint[tokens] == pytest.approx(alone)


def test_outcomes_are_those_of_transformers():
    q, p = distributions(3, 2, 3), distributions(4, 3, 3)
    draft, times = [0, 2], 6000
    logits = [torch.tensor([rows]).log() for rows in (q, p)]
    known = inspect.signature(utils._speculative_sampling).parameters
    options = {"is_done_candidate": False} if "is_done_candidate" in known else {}
    torch.manual_seed(7)

    found = Counter(
        tuple(
            utils._speculative_sampling(
                candidate_input_ids=torch.tensor([draft]),
                candidate_logits=logits[0],
                candidate_length=2,
                new_logits=logits[1],
                **options,
            )[0][0].tolist()
        )
        for _ in range(times)
    )

    law = oracle.outcomes(draft, q, p)
    assert found.keys() <= law.keys()
    assert chi_square_p([found[x] for x in law], [*law.values()]) > 1e-6


def test_texts_are_counted_out():
    even, steep = [0.0, 0.0, 0.0], [math.log(1), math.log(4), math.log(3)]

    law = oracle.texts(lambda history: steep if history[-1] == 1 else even, 0.5, [0], 2, [2])

    # Behind a 1 the shares are 1, 16 and 9 of 26; elsewhere one in three; token 2 ends the text.
    want = {(): 1 / 3, (0,): 1 / 9, (0, 0): 1 / 9, (0, 1): 1 / 9}
    want |= {(1,): 9 / 78, (1, 0): 1 / 78, (1, 1): 16 / 78}
    assert law == pytest.approx(want)


def test_residual_of_equal_distributions_is_the_target():
    assert oracle.residual([0.25, 0.75], [0.25, 0.75]) == [0.25, 0.75]
    assert oracle.residual([0.4, 0.2, 0.4], [0.8, 0.2, 0.0]) == [0.0, 0.0, 1.0]


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0, 0.99, allow_subnormal=False),
    st.integers(0, 12),
    st.floats(0, 3, allow_subnormal=False),
)
def test_speedup_is_leviathans(acceptance, k, cost):
    formula = (1 - acceptance ** (k + 1)) / ((1 - acceptance) * (k * cost + 1))

    assert oracle.speedup(acceptance, k, cost) == pytest.approx(formula, rel=1e-9)


def test_speedup_of_certain_guesses():
    assert oracle.speedup(1.0, 4, 0.25) == 2.5
    assert oracle.speedup(1.0, 0, 9.0) == 1.0


# --- models ----------------------------------------------------------------------------------


def test_any_change_of_the_history_changes_the_script():
    script = Script(VOCAB, 5)
    history = [3, 1, 4, 1, 5]

    changed = [[*history[:i], (history[i] + 1) % VOCAB, *history[i + 1 :]] for i in range(5)]
    others = [*changed, history[:4], [0, *history], [1, 3, 4, 1, 5]]

    states = {script.state(other) for other in others}
    assert len(states) == len(others)
    assert script.state(history) not in states
    assert len(set(script(history))) == VOCAB


def test_script_ends_where_it_is_told_and_is_silent_else():
    script = Script(VOCAB, 8, silent=[2, 6], endings={7: 6})

    text = greedy(script, [1, 5], 20, [2, 6])

    assert len(text) == 5
    assert not {2, 6} & set(text)
    assert greedy(script, [1, 5], 20, [])[5] == 6


@pytest.mark.parametrize("instead", [-1, 4])
def test_draft_disagrees_where_it_should(instead):
    script = Script(VOCAB, 6)
    draft = disagree(script, lambda history: len(history) % 3 == 0, instead)

    for length in range(1, 20):
        history = random.Random(length).choices(range(VOCAB), k=length)
        best, guess = (row.index(max(row)) for row in (script(history), draft(history)))
        assert (best == guess) == (length % 3 == 0)
        assert instead in (-1, best) or best == guess or guess == instead


def test_reader_keeps_a_cache_and_a_diary():
    diary: list[Call] = []
    script = Script(VOCAB, 1)
    reader = Reader("draft", VOCAB, script, diary)

    reader.forward([1, 2, 3])
    reader.rewind(2)
    got = reader.forward([7, 5])

    assert reader.length == 3
    assert diary == [Call("draft", 0, (1, 2, 3)), Call("draft", 1, (1, 7, 5))]
    assert torch.equal(got, torch.tensor([script([1, 7]), script([1, 7, 5])]))
    assert reader.forward([]).shape == (0, VOCAB)


@pytest.mark.parametrize("tokens", [None, (1, 2), [1.0], [True], [VOCAB], [-1], torch.ones(2)])
def test_reader_refuses_what_are_no_tokens(tokens):
    with pytest.raises(Misuse):
        Reader("target", VOCAB, Script(VOCAB, 1)).forward(tokens)


@pytest.mark.parametrize("n", [-1, 3, None, 1.0, True])
def test_reader_refuses_to_drop_what_it_has_not(n):
    reader = Reader("target", VOCAB, Script(VOCAB, 1))
    reader.forward([1, 2])

    with pytest.raises(Misuse):
        reader.rewind(n)
    assert reader.length == 2


# --- the diary -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(5))
@pytest.mark.parametrize("right", [lambda h: True, lambda h: False, lambda h: len(h) % 3 > 0])
def test_rounds_are_those_of_a_plain_loop(k, right):
    script = Script(VOCAB, 3)
    draft = disagree(script, right)
    text = [1, 2, *greedy(script, [1, 2], 17, [])]

    place, rounds = 2, 0
    while place < len(text):
        guess = greedy(draft, text[:place], k, [])
        place += alike(guess, greedy(script, text[:place], k, [])) + 1
        rounds += 1

    assert rounds_needed(draft, text, 2, len(text), k) == rounds


PROMPT, OUTPUT = [1, 2], [3, 4, 5, 6, 7]
# Two rounds of k = 3: 3 and 4 are right, 9 is wrong; then 6 and 7 are right and 8 is cut off.
ROUNDS = [
    Call("draft", 0, (1, 2)),
    Call("draft", 2, (1, 2, 3)),
    Call("draft", 3, (1, 2, 3, 4)),
    Call("target", 0, (1, 2, 3, 4, 9)),
    Call("draft", 4, (1, 2, 3, 4, 5)),
    Call("draft", 5, (1, 2, 3, 4, 5, 6)),
    Call("target", 4, (1, 2, 3, 4, 5, 6, 7, 8)),
]


def test_right_calls_are_in_place():
    assert misplaced(ROUNDS, PROMPT, OUTPUT, 3) == ""


@pytest.mark.parametrize(
    ("number", "call"),
    [
        (6, Call("target", 5, (1, 2, 3, 4, 9, 5, 6, 7, 8))),  # the wrong guess is still there
        (4, Call("draft", 5, (1, 2, 3, 4, 9, 5))),
        (4, Call("draft", 3, (1, 2, 3, 5))),  # a token never entered
        (6, Call("target", 4, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0))),  # too many guesses
        (1, Call("draft", 2, (1, 2, 4))),  # not what the target was asked about
    ],
)
def test_calls_out_of_place_are_found(number, call):
    diary = [*ROUNDS[:number], call, *ROUNDS[number + 1 :]]

    assert f"call {number + 1}" in misplaced(diary, PROMPT, OUTPUT, 3)


def test_tokens_read_again_are_counted():
    calls = [Call("draft", 0, (1, 2)), Call("target", 0, (1, 2)), Call("draft", 1, (1, 3))]
    again = Call("draft", 0, (1, 3, 2))

    assert read_again(calls, "draft") == 0
    assert read_again([*calls, again], "draft") == 2
    assert read_again([*calls, again], "target") == 0


def test_tallies_of_plain_rounds():
    assert tallies(ROUNDS, PROMPT, OUTPUT, 3, []) == {(6, 4)}


def test_tallies_with_the_prompt_read_first():
    # Whether the call for the prompt emitted the 3 or not, only one story fits what follows.
    first = [Call("target", 0, (1, 2)), Call("target", 2, (1, 2, 3, 4, 9)), ROUNDS[-1]]

    assert tallies(first, PROMPT, OUTPUT, 3, []) == {(6, 4), (5, 3)}


def test_tallies_where_an_eos_is_accepted():
    calls = [Call("target", 0, (1, 2, 3, 4, 8, 5))]

    assert tallies(calls, PROMPT, [3, 4], 4, [8]) == {(4, 2), (4, 3)}
    assert tallies(calls, PROMPT, [3, 4], 4, []) == {(4, 2)}


def test_no_tally_fits_calls_that_are_wrong():
    assert tallies([Call("target", 0, (1, 3))], PROMPT, OUTPUT, 3, []) == set()
    assert tallies(ROUNDS, PROMPT, OUTPUT, 2, []) == set()
    assert tallies(ROUNDS[:4], PROMPT, OUTPUT, 3, []) == set()  # nobody said 6 and 7
