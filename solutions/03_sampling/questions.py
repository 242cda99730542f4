"""Right answers to the questions of lab 03, and wrong ones that each must fail."""

import math
from fractions import Fraction

PARENTS = 3


def commutes() -> set[str]:
    """Dividing by t > 0 changes no rank and no sign. It changes probabilities, which p asks for."""
    return {"top_k", "repetition_penalty"}


def min_p_leaves(best: float, p: float) -> int:
    """Each other token that stays has p · best or more, and all others share 1 - best."""
    rest, least = 1 - Fraction(str(best)), Fraction(str(p)) * Fraction(str(best))
    stay = 1
    while rest >= least:
        rest, stay = rest - least, stay + 1
    return stay


def top_p_leaves(best: float, p: float) -> int:
    """No token has more than the best one, so fewer than p / best of them cannot hold p."""
    held, stay = Fraction(0), 0
    while held < Fraction(str(p)):
        held, stay = held + Fraction(str(best)), stay + 1
    return stay


def kept_of_a_row() -> list[str]:
    """They keep 2, 3, 4, 5 and 6 tokens: the bars of min_p are 0.2 · 0.45 and 0.1 · 0.45."""
    row = [Fraction(text) for text in ("0.45", "0.25", "0.12", "0.08", "0.06", "0.04")]

    def kept(name: str) -> int:
        rule, _, number = name.removesuffix(")").partition("(")
        if rule == "top_k":
            return int(number)
        if rule == "min_p":
            return sum(x >= Fraction(number) * row[0] for x in row)
        return next(n for n in range(1, 7) if sum(row[:n]) >= Fraction(number))

    return sorted(["top_k(4)", "top_p(0.5)", "top_p(0.97)", "min_p(0.1)", "min_p(0.2)"], key=kept)


def penalty_and_offset(logit: int, penalty: float, offset: int) -> float:
    """Both logits are positive now, so the history's is divided; the gap's exp is their ratio."""
    other = logit + offset
    seen = other / penalty if other > 0 else other * penalty
    return math.exp(other) / math.exp(seen)


def crossing_token_dropped() -> str:
    """The best token alone is not below p, and no other comes before it: all become -inf."""
    return "nothing: the softmax of the row is NaN"


def ratio_at_temperature(ratio: int, t: float) -> float:
    """The logits differ by log(ratio), and by log(ratio) / t behind the temperature."""
    return math.exp(math.log(ratio) / t)


def draw(weights: list[float], u: float) -> int:
    """The token whose interval, from the sum before it up to its own sum, holds u · total."""
    ends = [sum(weights[: i + 1]) for i in range(len(weights))]
    return next(i for i, end in enumerate(ends) if u * ends[-1] < end)


def candidates(beams: int, finished: int, vocabulary: int) -> int:
    """Each live beam is extended by every token; each finished one is a candidate as it is."""
    return (beams - finished) * vocabulary + finished


def length_penalty_of_a_tie(few: int, many: int, low: float, lower: float) -> float:
    """Equal where lower / low = (many / few) ** a: a is the ratio of the two logarithms."""
    below, above = 0.0, 10.0
    for _ in range(60):
        middle = (below + above) / 2
        if lower / many**middle < low / few**middle:
            below = middle
        else:
            above = middle
    return below


def parents_of_beams(third: float, second: float) -> tuple[int, ...]:
    """The three best sums of all extensions, with the beam that each comes from."""
    sums = [-1.0, -1.2, third]
    steps = [(-0.5, -1.5), (-0.2, second), (-0.3, -2.9)]
    scored = [(sums[i] + step, i) for i in range(PARENTS) for step in steps[i]]
    return tuple(i for _, i in sorted(scored, reverse=True)[:PARENTS])


RIGHT: dict[str, list[str]] = {
    "draw": [
        """def draw(weights, u):
    left = u * sum(weights)
    for i in range(len(weights)):
        if left < weights[i]:
            return i
        left = left - weights[i]
""",
        """def draw(weights, u):
    total = 0
    i = 0
    while total + weights[i] <= u * sum(weights):
        total += weights[i]
        i += 1
    return i
""",
    ],
    "candidates": [
        "(beams - finished) * vocabulary + finished",
        "beams*vocabulary - finished*(vocabulary - 1)",
    ],
}

WRONG: dict[str, list[object]] = {
    "commutes": [{"top_k"}, {"top_k", "top_p", "min_p"}, {"top_k", "min_p"}, {"top_k", "top_p"}],
    "min_p_leaves": [
        lambda best, p: int(1 / p + 1e-9),
        lambda best, p: int((1 - best) / (p * best) + 1e-9),
        lambda best, p: int(1 / (p * best) + 1e-9),
    ],
    "top_p_leaves": [
        lambda best, p: int(p / best),
        lambda best, p: math.ceil(1 / best),
        lambda best, p: math.ceil(p / best) + 1,
        lambda best, p: 1,
    ],
    "kept_of_a_row": [
        ["top_p(0.5)", "top_k(4)", "min_p(0.2)", "min_p(0.1)", "top_p(0.97)"],
        ["top_p(0.5)", "top_k(4)", "top_p(0.97)", "min_p(0.1)", "min_p(0.2)"],
        ["min_p(0.2)", "top_p(0.5)", "top_k(4)", "min_p(0.1)", "top_p(0.97)"],
        ["top_p(0.5)", "min_p(0.2)", "top_k(4)", "top_p(0.97)", "min_p(0.1)"],
    ],
    "penalty_and_offset": [
        lambda logit, penalty, offset: math.exp(-logit * (penalty - 1)),
        lambda logit, penalty, offset: penalty,
        lambda logit, penalty, offset: math.exp((logit + offset) * (penalty - 1)),
        lambda logit, penalty, offset: (logit + offset) * (1 - 1 / penalty),
    ],
    "crossing_token_dropped": [
        "the best token alone",
        "the best token and the next one",
        "all tokens but the best one",
    ],
    "ratio_at_temperature": [
        lambda ratio, t: ratio**t,
        lambda ratio, t: ratio / t,
        lambda ratio, t: ratio,
        lambda ratio, t: math.log(ratio) / t,
    ],
    "draw": [
        """def draw(weights, u):
    left = u * sum(weights)
    for i in range(len(weights)):
        if left <= weights[i]:
            return i
        left = left - weights[i]
""",
        """def draw(weights, u):
    left = u
    for i in range(len(weights)):
        if left < weights[i]:
            return i
        left = left - weights[i]
    return len(weights) - 1
""",
        """def draw(weights, u):
    best = 0
    for i in range(len(weights)):
        if weights[i] > weights[best]:
            best = i
    return best
""",
        """def draw(weights, u):
    for i in range(len(weights)):
        if u * sum(weights) < weights[i]:
            return i
    return len(weights) - 1
""",
    ],
    "candidates": [
        "beams * vocabulary",
        "(beams - finished) * vocabulary",
        "beams * vocabulary + finished",
        "beams * (vocabulary - finished)",
    ],
    "length_penalty_of_a_tie": [
        lambda few, many, low, lower: (lower / low) / (many / few),
        lambda few, many, low, lower: math.log(many / few) / math.log(lower / low),
        lambda few, many, low, lower: math.log(lower / low),
        lambda few, many, low, lower: 1.0,
    ],
    "parents_of_beams": [
        (0, 1, 2),
        lambda third, second: tuple(sorted(parents_of_beams(third, second))),
        (0, 0, 1),
    ],
}

CASES: dict[str, list[tuple[object, ...]]] = {
    "candidates": [(2, 1, 3), (4, 0, 10), (4, 3, 10), (8, 5, 2048), (5, 2, 7)],
    "draw": [
        ([0, 1, 3], 0.0),
        ([1, 3], 0.25),
        ([1, 3], 0.125),
        ([2, 0, 2], 0.5),
        ([1, 1, 2, 0], 0.96875),
        ([0.25, 0.5, 0.25], 0.75),
        ([0.25, 0.25, 0.5], 0.375),
        ([5], 0.5),
        ([3, 2, 2, 1], 0.625),
    ],
}
