"""Right answers to the questions of lab 04, and wrong ones that each must fail."""

import math

KEY_POSITIONS = [6, 1, 9, 0, 6, 3, 8]
LOW, HIGH = 1, 4  # turns between which a frequency is blended


def full_turn(theta: int, width: int, pair: int) -> float:
    """A pair turns by theta^(-2i/D) a position, and a full turn is 2π."""
    return 2 * math.pi / theta ** (-2 * pair / width)


def score_at_a_distance(there: int, distance: int) -> float:
    """Both turn from the same place, so the angle between them is 0.4 times the distance."""
    query, key = 0.4 * there, 0.4 * (there - distance)
    return math.cos(query) * math.cos(key) + math.sin(query) * math.sin(key)


def step_near_a_position(bits: int, position: int) -> float:
    """The leading bit is the largest power of two below, the last one 2^(1 - bits) of it."""
    leading = 1
    while 2 * leading <= position:
        leading *= 2
    return leading / 2 ** (bits - 1)


def pairs_left_alone(context: int, theta: int, width: int) -> int:
    """Those whose angle behind the original context is above four full turns."""
    frequencies = [theta ** (-2 * i / width) for i in range(width // 2)]
    return sum(context * f / (2 * math.pi) > HIGH for f in frequencies)


def blended_frequency(factor: int, turns: float) -> float:
    """r = (turns - 1) / 3 of the plain frequency, the rest of it divided by the factor."""
    r = (turns - LOW) / (HIGH - LOW)
    return r + (1 - r) / factor


def hidden_mistakes() -> set[str]:
    """What moves all positions of a sequence by the same number changes no difference of two."""
    return {
        "positions count from 1",
        "the padding to the left of the sequence is counted in all its positions",
    }


def keys_rotated_in_all(prompt: int, steps: int) -> int:
    """Each update rotates all keys that are there then, its own included."""
    held, rotated = 0, 0
    for tokens in [prompt] + [1] * steps:
        held += tokens
        rotated += held
    return rotated


def index_in_a_sink_cache(sinks: int, window: int, total: int, age: int) -> int:
    """The newest token has the last index, sinks + window - 1; each older one has one less."""
    kept: list[int] = []
    for token in range(total):
        kept.append(token)
        if len(kept) > sinks + window:
            del kept[sinks]
    return kept.index(total - 1 - age)


def keys_of_a_sink_cache(
    rows: int,
    heads: int,
    kv_heads: int,
    width: int,
    sinks: int,
    window: int,
    updates: int,
    tokens: int,
) -> tuple[int, int, int, int]:
    """The sinks and the window are kept, new tokens included: no more is returned."""
    all_tokens = list(range(updates * tokens))
    kept = [i for i in all_tokens if i < sinks or i >= len(all_tokens) - window]
    return rows, kv_heads, len(kept), width


def positions_in_a_ring(tokens: int, slots: int) -> list[int]:
    """A slot holds the last position that was written to it: the order is not that of the text."""
    ring = [-1] * slots
    for position in range(tokens):
        ring[position % slots] = position
    return ring


def keys_a_query_sees(early: int, late: int) -> tuple[int, int]:
    """Positions are compared, wherever the keys stand; the query's own position is seen too."""
    first, second = (sum(key <= query for key in KEY_POSITIONS) for query in (early, late))
    return first, second


RIGHT: dict[str, list[str]] = {
    "keys_rotated_in_all": [
        "prompt + steps * prompt + steps * (steps + 1) / 2",
        "(steps + 1) * prompt + (steps**2 + steps) // 2",
        "(steps + 1) * (2*prompt + steps) / 2",
    ],
    "positions_in_a_ring": [
        """def positions_in_a_ring(tokens, slots):
    ring = [-1] * slots
    for p in range(tokens):
        ring[p % slots] = p
    return ring
""",
        """def positions_in_a_ring(tokens, slots):
    held = []
    for slot in range(slots):
        if slot >= tokens:
            held = held + [-1]
        else:
            held = held + [slot + (tokens - 1 - slot) // slots * slots]
    return held
""",
    ],
}

WRONG: dict[str, list[object]] = {
    "full_turn": [
        lambda theta, width, pair: theta ** (2 * pair / width),
        lambda theta, width, pair: 2 * math.pi * theta ** (pair / width),
        lambda theta, width, pair: 2 * math.pi * theta ** (-2 * pair / width),
        lambda theta, width, pair: math.pi * theta ** (2 * pair / width),
        lambda theta, width, pair: 2 * math.pi * theta ** (2 * (pair - 1) / width),
    ],
    "score_at_a_distance": [
        lambda there, distance: 1,
        lambda there, distance: math.cos(0.4 * (2 * there - distance)),
        lambda there, distance: math.cos(0.8 * distance),
        lambda there, distance: -math.cos(0.4 * distance),
    ],
    "step_near_a_position": [
        lambda bits, position: 2 ** (math.floor(math.log2(position)) - bits),
        lambda bits, position: 2 ** (math.floor(math.log2(position)) - bits + 2),
        lambda bits, position: position / 2**bits,
        lambda bits, position: 2.0 ** (1 - bits),
    ],
    "pairs_left_alone": [
        lambda context, theta, width: sum(
            context * theta ** (-2 * i / width) / (2 * math.pi) > LOW for i in range(width // 2)
        ),
        lambda context, theta, width: sum(
            context * theta ** (-2 * i / width) > HIGH for i in range(width // 2)
        ),
        lambda context, theta, width: sum(
            context * theta ** (-2 * i / width) / (2 * math.pi) < HIGH for i in range(width // 2)
        ),
        lambda context, theta, width: width // 2,
    ],
    "blended_frequency": [
        lambda factor, turns: (1 - (turns - 1) / 3) + (turns - 1) / 3 / factor,
        lambda factor, turns: 1 / factor,
        lambda factor, turns: turns / 4 + (1 - turns / 4) / factor,
        lambda factor, turns: (turns - 1) / 4 + (1 - (turns - 1) / 4) / factor,
    ],
    "hidden_mistakes": [
        {"positions count from 1"},
        {
            "positions count from 1",
            "the padding to the left of the sequence is counted in all its positions",
            "queries and keys are turned in the opposite direction, both",
        },
        {
            "positions count from 1",
            "the padding to the left of the sequence is counted in all its positions",
            "queries and keys are both rotated with twice the frequencies",
        },
    ],
    "keys_rotated_in_all": [
        "prompt + steps",
        "prompt + steps * prompt + steps * (steps - 1) / 2",
        "steps * prompt + steps * (steps + 1) / 2",
        "prompt + steps * (prompt + steps)",
    ],
    "index_in_a_sink_cache": [
        lambda sinks, window, total, age: total - 1 - age,
        lambda sinks, window, total, age: window - 1 - age,
        lambda sinks, window, total, age: sinks + window - age,
        lambda sinks, window, total, age: sinks + age,
    ],
    "keys_of_a_sink_cache": [
        lambda rows, heads, kv_heads, width, sinks, window, updates, tokens: (
            (rows, kv_heads, updates * tokens, width)
        ),
        lambda rows, heads, kv_heads, width, sinks, window, updates, tokens: (
            (rows, heads, sinks + window, width)
        ),
        lambda rows, heads, kv_heads, width, sinks, window, updates, tokens: (
            (rows, kv_heads, sinks + window + tokens, width)
        ),
        lambda rows, heads, kv_heads, width, sinks, window, updates, tokens: (
            (rows, kv_heads, window, width)
        ),
        lambda rows, heads, kv_heads, width, sinks, window, updates, tokens: (
            (rows, sinks + window, kv_heads, width)
        ),
    ],
    "positions_in_a_ring": [
        """def positions_in_a_ring(tokens, slots):
    held = []
    for p in range(max(0, tokens - slots), tokens):
        held = held + [p]
    return held
""",
        """def positions_in_a_ring(tokens, slots):
    ring = [-1] * slots
    for p in range(min(tokens, slots)):
        ring[p] = p
    return ring
""",
        """def positions_in_a_ring(tokens, slots):
    ring = [-1] * slots
    for p in range(tokens + 1):
        ring[p % slots] = p
    return ring
""",
        """def positions_in_a_ring(tokens, slots):
    ring = [0] * slots
    for p in range(tokens):
        ring[p % slots] = p
    return ring
""",
    ],
    "keys_a_query_sees": [
        (6, 7),
        lambda early, late: (early + 1, late + 1),
        (7, 7),
        lambda early, late: tuple(reversed(keys_a_query_sees(early, late))),
        lambda early, late: tuple(sum(k > q for k in KEY_POSITIONS) for q in (early, late)),
    ],
}

CASES: dict[str, list[tuple[object, ...]]] = {
    "positions_in_a_ring": [(10, 4), (4, 4), (5, 4), (3, 4), (0, 3), (7, 1), (1, 1), (29, 5)],
}
