"""Right answers to the questions of lab 10, and wrong ones that each must fail."""


def _kept(acceptance: float, k: int) -> float:
    """How many guesses stay on average: guess i if it and all before it do."""
    chances = [acceptance**i * (1 - acceptance) for i in range(k)] + [acceptance**k]
    return sum(stay * chance for stay, chance in enumerate(chances))


def ms_a_token(acceptance: float, k: int, target: int, draft: int) -> float:
    """A round takes one call of the target and k of the draft, and emits the guesses that stay and
    one token of the target's own."""
    return (target + k * draft) / (_kept(acceptance, k) + 1)


def thrown_away(acceptance: float, k: int) -> float:
    """All but those that stay, of which there are a + a^2 + ... + a^k on average."""
    return k - _kept(acceptance, k)


def best_k(acceptance: float, cost: float) -> int:
    """One more guess pays while the chance that it is emitted is above cost times the speed-up that
    is reached."""
    speeds = [(_kept(acceptance, k) + 1) / (1 + k * cost) for k in range(40)]
    return speeds.index(max(speeds))


def _laws(a: float, b: float) -> tuple[list[float], list[float]]:
    return [a, b, 1 - a - b], [0.6, 0.3, 0.1]


def stays(a: float, b: float) -> float:
    """The sum over tokens of q(x) min(1, p(x) / q(x)), which is min(p(x), q(x))."""
    return sum(q * min(1, p / q) for p, q in zip(*_laws(a, b), strict=True))


def replaced_by(a: float, b: float) -> float:
    """The residual: what the target has above the draft, made to add up to 1."""
    above = [max(0, p - q) for p, q in zip(*_laws(a, b), strict=True)]
    return above[1] / sum(above)


def wrong_law(a: float, b: float) -> float:
    """As a guess that stays with 0.6 a / 0.6, and once more from the target whenever a guess goes:
    too often."""
    return a + (1 - stays(a, b)) * a


def draft_drops(k: int, accepted: int) -> int:
    """It has read all guesses but its last, and keeps those that stayed."""
    read = k - 1
    return read - accepted


def target_calls(right: list[bool], k: int) -> int:
    """A call emits the right guesses before the first wrong one, k at most, and one token of the
    target's own."""
    place = calls = 0
    while place < len(right):
        stayed = 0
        while stayed < k and place + stayed < len(right) and right[place + stayed]:
            stayed += 1
        place += stayed + 1
        calls += 1
    return calls


_HOTTER = "The draft guesses at twice the temperature, and `draft_probs` are what it drew from."
_CUT = (
    "The draft is cut to its 10 best tokens, and `draft_probs` are those of the cut distribution."
)
_BEFORE = "The draft is cut to its 10 best tokens, and `draft_probs` are those before the cut."
_ADAPTS = "k of a round follows from how many guesses stayed in the round before."
_HALF = "A guess also stays where p(x) is at least half of q(x)."
_BEST = "A rejected guess is replaced by the target's best token."


def law_is_kept() -> set[str]:
    """The proof asks that guesses are drawn from the q that is reported, that they stay with
    min(1, p / q), and that the residual replaces them; how many there are does not matter."""
    return {_HOTTER, _CUT, _ADAPTS}


def largest_k(batch: int, peak: int, bandwidth: float) -> int:
    """A weight is 2 bytes, and 2 operations for each of the batch x (k + 1) tokens: at most
    peak / bandwidth tokens."""
    k = -1
    while 2 * batch * (k + 2) / peak <= 2 / bandwidth:
        k += 1
    return k


def cache_in_a_round(layers: int, kv_heads: int, head_dim: int, text: int, guesses: int) -> int:
    """It held text - 1 tokens, and has read 1 + guesses more."""
    held = text - 1 + 1 + guesses
    return 2 * layers * kv_heads * head_dim * held * 2


def fastest_draft_first() -> list[str]:
    """Speed-ups of 2.40, 2.05, 1.37 and 0.75: the dearest draft is worse than none."""
    drafts = [(0.9, 0.5, 4), (0.8, 0.1, 4), (0.6, 0.02, 3), (0.5, 0.4, 4)]
    drafts.sort(key=lambda it: -(_kept(it[0], it[2]) + 1) / (1 + it[2] * it[1]))
    return [f"acceptance {a}, cost {cost}, k = {k}" for a, cost, k in drafts]


RIGHT = {
    "target_calls": [
        """def target_calls(right, k):
    i = 0
    calls = 0
    while i < len(right):
        calls = calls + 1
        left = k
        while left > 0 and i < len(right) and right[i]:
            i = i + 1
            left = left - 1
        i = i + 1
    return calls""",
        """def target_calls(right, k):
    calls = 0
    new = True
    for ok in right:
        if new:
            calls += 1
            stayed = 0
        new = not ok or stayed == k
        stayed = stayed + 1
    return calls""",
    ],
    "cache_in_a_round": [
        "4 * layers * kv_heads * head_dim * (text + guesses)",
        "2*2*layers*kv_heads*head_dim*text + 2*2*layers*kv_heads*head_dim*guesses",
    ],
}

WRONG = {
    "ms_a_token": [
        lambda acceptance, k, target, draft: (target + k * draft) / (1 + acceptance * k),
        lambda acceptance, k, target, draft: target / (_kept(acceptance, k) + 1),
        lambda acceptance, k, target, draft: (target + k * draft) / _kept(acceptance, k),
        lambda acceptance, k, target, draft: (target + k * draft) / (k + 1),
    ],
    "thrown_away": [
        lambda acceptance, k: k * (1 - acceptance),
        lambda acceptance, k: k - _kept(acceptance, k) - 1,
        lambda acceptance, k: _kept(acceptance, k),
    ],
    "best_k": [
        1,
        lambda acceptance, cost: 1 / (1 - acceptance),
        lambda acceptance, cost: best_k(acceptance, cost) + 1,
        0,
    ],
    "stays": [
        lambda a, b: sum(p * q for p, q in zip(*_laws(a, b), strict=True)),  # both the same token
        lambda a, b: 1 - stays(a, b),
        lambda a, b: sum(min(1, p / q) for p, q in zip(*_laws(a, b), strict=True)) / 3,
    ],
    "replaced_by": [
        lambda a, b: b,
        lambda a, b: b - 0.3,  # not made to add up to 1
        lambda a, b: b / (1 - a),
    ],
    "wrong_law": [
        lambda a, b: a,
        0.6,
        lambda a, b: a * (1 - stays(a, b)),
    ],
    "draft_drops": [
        lambda k, accepted: k - accepted,  # the last guess was never read
        lambda k, accepted: k - accepted - 2,
        lambda k, accepted: k - accepted + 1,
    ],
    "target_calls": [
        # of the guesses behind a wrong one
        """def target_calls(right, k):
    n = len(right)
    return (n + k) // (k + 1)""",
        # without the target's own token behind k right guesses
        """def target_calls(right, k):
    i = 0
    calls = 0
    while i < len(right):
        calls += 1
        stop = i + k
        while i < stop and i < len(right) and right[i]:
            i += 1
        if i < stop or k == 0:
            i += 1
    return calls""",
        "def target_calls(right, k):\n    return 1 + len([x for x in right if not x])",
    ],
    "law_is_kept": [
        {_HOTTER, _CUT},
        {_CUT, _ADAPTS},
        {_HOTTER, _CUT, _ADAPTS, _BEFORE},
        {_HOTTER, _CUT, _ADAPTS, _BEST},
        {_HALF, _ADAPTS},
    ],
    "largest_k": [
        lambda batch, peak, bandwidth: largest_k(batch, peak, bandwidth) + 1,  # k + 1 tokens
        lambda batch, peak, bandwidth: 2 * peak // (bandwidth * batch) - 1,  # one operation
        lambda batch, peak, bandwidth: peak // bandwidth - 1,  # one sequence
    ],
    "cache_in_a_round": [
        "4 * layers * kv_heads * head_dim * (text + guesses + 1)",
        "4 * layers * kv_heads * head_dim * (text + guesses - 1)",
        "2 * layers * kv_heads * head_dim * (text + guesses)",
        "4 * layers * kv_heads * head_dim * guesses",
    ],
    "fastest_draft_first": [
        [
            "acceptance 0.9, cost 0.5, k = 4",
            "acceptance 0.8, cost 0.1, k = 4",
            "acceptance 0.6, cost 0.02, k = 3",
            "acceptance 0.5, cost 0.4, k = 4",
        ],
        [
            "acceptance 0.6, cost 0.02, k = 3",
            "acceptance 0.8, cost 0.1, k = 4",
            "acceptance 0.5, cost 0.4, k = 4",
            "acceptance 0.9, cost 0.5, k = 4",
        ],
    ],
}

CASES = {
    "target_calls": [
        ([], 3),
        ([True], 1),
        ([False], 2),
        ([True, True, True], 0),
        ([True, True, True, True], 3),
        ([True, True, True, True, True], 3),
        ([False, False, True, True], 2),
        ([True, False, True, True, False, True, True, True, True], 2),
        ([False, True, True, False, True, True, True], 1),
        ([True] * 9 + [False] + [True] * 6, 4),
    ],
}
