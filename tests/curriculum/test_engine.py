"""The reference engine's loop: slots, chunks, endings and errors, beside a model that is plain."""

import functools
import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from reference.engine.engine import CHUNK, Engine, Setting
from reference.engine.requests import Ending, Output, Request
from reference.engine.sampling import Sampling
from reference.llama import greedy
from reference.models.checkpoint import Model, random_model

SOURCE = torch.Generator().manual_seed(7)
PROMPTS = ([5, 9, 30, 7], [1], [44, 2, 2, 19, 8, 33, 50], [9, 9])
COUNTS = (23, CHUNK + 2, 9, 31)


def normal(*shape: int, scale: float = 1.0, shift: float = 0.0) -> Tensor:
    return torch.randn(*shape, generator=SOURCE) * scale + shift


MODEL = random_model(normal)
SMALLER = random_model(normal, num_layers=1, hidden_size=12, intermediate_size=19)


def engine(slots: int = 3, max_len: int = 64, **options: object) -> Engine:
    setting = Setting(slots=slots, max_len=max_len, compiled=False)
    return Engine(MODEL, setting, **options)  # type: ignore[arg-type]


def plain(prompt: Sequence[int], count: int, model: Model = MODEL) -> list[int]:
    """What the model says by itself, without a cache; no best token may be a close call."""
    tokens, margins = greedy(*model.rounded, [*prompt], count)
    assert min(margins) > 1e-3
    return tokens


@functools.cache
def expected() -> list[list[int]]:
    """What the model says to each prompt by itself."""
    return [plain(prompt, count) for prompt, count in zip(PROMPTS, COUNTS, strict=True)]


REQUESTS = [Request(prompt, count) for prompt, count in zip(PROMPTS, COUNTS, strict=True)]


@pytest.mark.parametrize("slots", [1, 2, 3, 5])
def test_each_request_says_what_it_says_alone(slots: int) -> None:
    outputs = engine(slots).generate(REQUESTS)

    assert [output.tokens for output in outputs] == expected()
    assert {output.ending for output in outputs} == {Ending.LENGTH}


def test_tokens_are_streamed_as_they_come() -> None:
    served = engine(2)
    first, second = served.add(REQUESTS[0]), served.add(REQUESTS[1])

    said: dict[int, list[int]] = {first: [], second: []}
    order: list[int] = []
    for number, token in served.stream():
        said[number].append(token)
        order.append(number)

    assert said == {first: expected()[0], second: expected()[1]}
    # Both prompts come before the rest, then they take turns to the end of the shorter.
    assert order[: 2 * COUNTS[1]] == [first, second] * COUNTS[1]
    assert served.take(first) == Output(expected()[0], Ending.LENGTH)


def test_a_slot_is_given_on_as_soon_as_it_is_free() -> None:
    served = engine(2)
    numbers = [served.add(Request(PROMPTS[i], count)) for i, count in ((0, 3), (1, 12), (2, 4))]

    order = [number for number, _ in served.stream()]

    after = order.index(numbers[2])
    assert order[:after].count(numbers[0]) == 3
    assert order[:after].count(numbers[1]) < 12  # it runs on beside the new one
    assert served.take(numbers[2]).tokens == expected()[2][:4]


def test_requests_may_come_while_others_are_served() -> None:
    served = engine(2)
    first = served.add(REQUESTS[0])

    late: list[int] = []
    for place, _ in enumerate(served.stream()):
        if place == 4:
            late.append(served.add(REQUESTS[2]))

    assert served.take(first).tokens == expected()[0]
    assert served.take(late[0]).tokens == expected()[2]


def test_an_eos_ends_a_request_and_is_not_said() -> None:
    eos = expected()[0][6]
    short = expected()[0][: expected()[0].index(eos)]
    served = engine(2)

    both = served.generate([Request(PROMPTS[0], 23, {eos}), REQUESTS[3]])

    assert both == [Output(short, Ending.EOS), Output(expected()[3], Ending.LENGTH)]


def test_an_aborted_request_says_no_more_and_frees_its_slot() -> None:
    served = engine(1)
    numbers = [served.add(request) for request in REQUESTS[:3]]
    served.abort(numbers[1])

    said: list[tuple[int, int]] = []
    for number, token in served.stream():
        said.append((number, token))
        if number == numbers[0] and len(said) == 4:
            served.abort(number)

    assert served.take(numbers[0]) == Output(expected()[0][:4], Ending.ABORTED)
    assert served.take(numbers[1]) == Output([], Ending.ABORTED)
    assert served.take(numbers[2]).tokens == expected()[2]
    assert [number for number, _ in said] == [numbers[0]] * 4 + [numbers[2]] * COUNTS[2]


def test_who_stops_listening_loses_no_token() -> None:
    served = engine(2)
    number = served.add(REQUESTS[0])

    heard = [next(served.stream()) for _ in range(3)]
    heard += served.stream()

    assert [token for _, token in heard] == expected()[0]
    assert served.take(number).tokens == expected()[0]


def test_a_slot_can_be_filled_to_its_last_place() -> None:
    served = engine(max_len=len(PROMPTS[0]) + COUNTS[0] - 1)

    assert served.generate(REQUESTS[:1])[0].tokens == expected()[0]


def test_nothing_new_needs_no_slot() -> None:
    assert engine().generate([Request([1, 2], 0)]) == [Output([], Ending.LENGTH)]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request([], 3), "the prompt is empty"),
        (Request([1, 53], 3), "the prompt holds 53, which is no token of 0 to 52"),
        (Request([-1], 3), "the prompt holds -1"),
        (Request([1], -1), "max_new_tokens is -1"),
        (
            Request([1] * 60, 6),
            "a prompt of 60 tokens and 6 new ones need 65 places; a slot of this engine has 64",
        ),
    ],
)
def test_what_no_slot_can_serve_is_refused(request_: Request, message: str) -> None:
    served = engine()

    with pytest.raises(ValueError, match=message):
        served.generate([REQUESTS[0], request_])

    assert list(served.stream()) == []  # nothing of it was added


def test_numbers_that_mean_nothing_are_refused() -> None:
    served = engine()
    number = served.add(REQUESTS[0])

    with pytest.raises(ValueError, match="there is no request 9"):
        served.abort(9)
    with pytest.raises(ValueError, match="request 0 is not over"):
        served.take(number)
    with pytest.raises(ValueError, match="at least one slot"):
        Setting(slots=0)
    with pytest.raises(ValueError, match="-1 guesses a round"):
        engine(guesses=-1)
    served.abort(number)
    served.take(number)
    with pytest.raises(ValueError, match="there is no request 0"):
        served.take(number)


# --- guesses ---------------------------------------------------------------------------------


@pytest.mark.in_turn
@pytest.mark.parametrize("draft", [SMALLER, MODEL, None], ids=["draft", "itself", "lookup"])
@pytest.mark.parametrize("guesses", [1, 3, 8])
def test_guesses_change_no_greedy_token(draft: Model | None, guesses: int) -> None:
    served = engine(2, guesses=guesses, draft=draft)

    # Two run together at first, then one alone, and each slot is used again.
    outputs = served.generate(REQUESTS)

    assert [output.tokens for output in outputs] == expected()
    assert served.rounds.guessed > 0


def test_a_draft_that_is_the_model_is_always_right() -> None:
    served = engine(1, guesses=4, draft=MODEL)

    assert served.generate([Request(PROMPTS[0], 21)])[0].tokens == expected()[0][:21]

    # One token of the prompt's pass, then four guesses and one more a pass.
    assert served.rounds.passes == 4
    assert served.rounds.accepted == served.rounds.guessed == 16


def test_an_eos_among_guesses_ends_the_request() -> None:
    eos = expected()[0][6]
    served = engine(1, guesses=8, draft=MODEL)

    output = served.generate([Request(PROMPTS[0], 23, {eos})])[0]

    assert output == Output(expected()[0][: expected()[0].index(eos)], Ending.EOS)


def test_a_draft_of_other_words_is_refused() -> None:
    with pytest.raises(ValueError, match="different vocabularies, of 11 and 53 tokens"):
        engine(guesses=2, draft=random_model(normal, vocab_size=11))


# --- draws -----------------------------------------------------------------------------------


def test_seeds_decide_what_is_drawn_whoever_runs_beside() -> None:
    hot = [Request(PROMPTS[0], 20, (), Sampling(1.5, top_k=20, seed=seed)) for seed in range(3)]

    together = engine(3).generate([*hot, REQUESTS[1]])
    alone = [engine(1).generate([request])[0] for request in hot]

    assert together[:3] == alone
    assert together[3].tokens == expected()[1]
    assert len({tuple(output.tokens) for output in alone}) == 3


def test_one_token_to_draw_from_is_the_best_one() -> None:
    request = Request(PROMPTS[0], 23, (), Sampling(2.0, top_k=1))

    assert engine().generate([request])[0].tokens == expected()[0]


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -1.0}, {"temperature": math.inf}, {"top_k": 0}, {"top_p": 1.5}, {"min_p": -1}],
)
def test_filters_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Sampling(**wrong)  # type: ignore[arg-type]
