"""Right answers to the questions of lab 09, and wrong ones that each must fail."""


def bits_a_weight(group: int, scale_bits: int, zero_bits: int) -> float:
    """Scale and zero are shared by the weights of a group."""
    return (group * 4 + scale_bits + zero_bits) / group


def step_ms(billions: int, bandwidth: float) -> float:
    """A weight has 4 + (32 + 8) / 32 = 5.25 bits, and each is read once."""
    nbytes = billions * 1e9 * bits_a_weight(32, 32, 8) / 8
    return nbytes / (bandwidth * 1e12) * 1e3


def codes_left(ratio: int) -> int:
    """The scale is ratio / 127 of the next largest, so their codes reach 127 / ratio, rounded, on
    both sides of 0."""
    scale = ratio / 127
    return len({round(step / 1000 / scale) for step in range(-1000, 1001)})


def codes_of_one_sign(low: int, high: int) -> int:
    """The range reaches down to 0, so scale is high / 15 and zero 0: codes begin at 15 low / high,
    rounded."""
    scale = high / 15
    weights = [low + (high - low) * step / 1000 for step in range(1001)]
    return len({round(weight / scale) for weight in weights})


_G32 = "int4, groups of 32, scales in float32, zeros of 8 bits"
_G128 = "int4, groups of 128, scales in float32, zeros of 8 bits"
_SMALL = "int4, groups of 32, scales in bfloat16, zeros of 4 bits"
_G8 = "int4, groups of 8, scales in float32, zeros of 8 bits"
_INT8 = "int8, a float32 scale for each row"


def fewest_bits_first() -> list[str]:
    """4.31, 4.63, 5.25, 8.01 and 9.00 bits a weight: groups of 8 take more than int8."""
    bits = {
        _G32: 4 + 40 / 32,
        _G128: 4 + 40 / 128,
        _SMALL: 4 + 20 / 32,
        _G8: 4 + 40 / 8,
        _INT8: 8 + 32 / 4096,
    }
    return sorted(bits, key=lambda name: bits[name])


def mixed_bytes(columns: int, group: int) -> int:
    """A byte has columns 2j and 2j + 1; they differ in group where a border is odd."""
    return sum(column // group != (column + 1) // group for column in range(0, columns, 2))


def bound_from(peak: int, bandwidth: float, bits: int) -> float:
    """A weight costs 2 M operations and bits / 8 bytes; both take as long at M = peak / bandwidth
    x bits / 16."""
    seconds_a_row = 2 / (peak * 1e12)
    return bits / 8 / (bandwidth * 1e12) / seconds_a_row


def slots_a_weight(group: int, bandwidth: float) -> float:
    """2.9e13 lanes a second, shared by as many weights as the memory brings in a second."""
    weights = bandwidth * 1e12 / (bits_a_weight(group, 32, 8) / 8)
    return 132 * 128 * 1.7e9 / weights


def cache_bytes(layers: int, kv_heads: int, head_dim: int, tokens: int) -> int:
    """Keys and values: a byte for each number, and a float32 scale for each head of a token."""
    return 2 * layers * kv_heads * tokens * (head_dim + 4)


def cache_scales(rows: int, heads: int, tokens: int, more: int, width: int) -> tuple[int, ...]:
    """One scale for each token and head, whenever the token came."""
    return (rows, heads, tokens + more)


_GROUP = "int4, groups of 32: the 31 others of its group come back as 0"
_OTHERS = "int4, groups of 32: the other groups come back as if it were not there"
_THREE = "int8: all others share three codes"
_NEAR = "int8: only weights next to it lose digits"
_LARGER = "int4, groups of 128 in place of 32: fewer weights are lost to it"


def outlier() -> set[str]:
    """In int8 a scale is 100 / 127, so the others have -1, 0 or 1. In int4 it is about 6.7: all of
    that group are below half of it, and no other group knows."""
    return {_GROUP, _OTHERS, _THREE}


def scale_by_128() -> str:
    """Its code is 128, which int8 does not have: it wraps around to -128."""
    code = (128 + 128) % 256 - 128
    return "it changes its sign" if code < 0 else "it comes back exactly"


RIGHT = {
    "mixed_bytes": [
        """def mixed_bytes(columns, group):
    count = 0
    for j in range(columns // 2):
        if (2 * j) // group != (2 * j + 1) // group:
            count += 1
    return count""",
        """def mixed_bytes(columns, group):
    # borders behind an odd number of columns
    return sum([border % 2 for border in range(group, columns, group)])""",
    ],
    "cache_bytes": [
        "2 * layers * kv_heads * tokens * (head_dim + 4)",
        "2*layers*tokens*kv_heads*head_dim + 8*layers*tokens*kv_heads",
    ],
}

WRONG = {
    "bits_a_weight": [
        4,
        lambda group, scale_bits, zero_bits: 4 + scale_bits / group,
        lambda group, scale_bits, zero_bits: 4 + (scale_bits + zero_bits) / 8 / group,
        lambda group, scale_bits, zero_bits: 4 + (scale_bits + zero_bits) / 4 / group,
    ],
    "step_ms": [
        lambda billions, bandwidth: billions * 4 / 8 / bandwidth,  # codes alone
        lambda billions, bandwidth: billions * (4 + 32 / 32) / 8 / bandwidth / 1.0737,
        lambda billions, bandwidth: billions * 2 / bandwidth,  # bfloat16
        lambda billions, bandwidth: billions * 5.25 / bandwidth,  # bits for bytes
    ],
    "codes_left": [
        lambda ratio: round(127 / ratio) + 1,  # of one sign
        lambda ratio: 2 * round(127 / ratio),  # 0 forgotten
        lambda ratio: 255 // ratio,
    ],
    "codes_of_one_sign": [
        16,
        lambda low, high: 15 - round(15 * low / high),  # one end forgotten
    ],
    "fewest_bits_first": [
        [_G128, _SMALL, _G32, _G8, _INT8],
        [_SMALL, _G128, _G32, _INT8, _G8],
        [_G128, _G32, _SMALL, _INT8, _G8],
    ],
    "mixed_bytes": [
        "def mixed_bytes(columns, group):\n    return 0",
        "def mixed_bytes(columns, group):\n    return columns // group - 1",
        "def mixed_bytes(columns, group):\n    return columns // group // 2 if group % 2 else 1",
        """def mixed_bytes(columns, group):
    return sum([1 for j in range(columns // 2) if j // group != (j + 1) // group])""",
    ],
    "bound_from": [
        lambda peak, bandwidth, bits: peak / bandwidth,
        lambda peak, bandwidth, bits: peak / bandwidth * bits / 8,  # one operation
        lambda peak, bandwidth, bits: peak / bandwidth * 16 / bits,
    ],
    "slots_a_weight": [
        lambda group, bandwidth: 132 * 128 * 1.7e9 * 0.5 / bandwidth / 1e12,  # codes alone
        lambda group, bandwidth: 132 * 128 * 1.7e9 * (4 + 40 / group) / bandwidth / 1e12,  # bits
        lambda group, bandwidth: 132 * 1.7e9 * (4 + 40 / group) / 8 / bandwidth / 1e12,
    ],
    "cache_bytes": [
        "2 * layers * kv_heads * tokens * head_dim",
        "layers * kv_heads * tokens * (head_dim + 4)",
        "2 * layers * kv_heads * tokens * (head_dim + 1)",
        "2 * layers * kv_heads * tokens * head_dim + 4 * layers * kv_heads * tokens",
        "2 * layers * (kv_heads * tokens * head_dim + 4)",
    ],
    "cache_scales": [
        lambda rows, heads, tokens, more, width: (rows, heads),
        lambda rows, heads, tokens, more, width: (rows, heads, tokens + more, width),
        lambda rows, heads, tokens, more, width: (rows, heads, 1 + more),
        lambda rows, heads, tokens, more, width: (rows, heads, width),
    ],
    "outlier": [
        {_GROUP, _OTHERS},
        {_OTHERS, _THREE},
        {_GROUP, _OTHERS, _THREE, _LARGER},
        {_GROUP, _OTHERS, _NEAR},
    ],
    "scale_by_128": ["it comes back a little too small, by one step", "it comes back exactly"],
}

CASES = {
    "mixed_bytes": [
        (2, 1),
        (2, 2),
        (6, 1),
        (6, 3),
        (8, 4),
        (18, 9),
        (30, 5),
        (30, 15),
        (30, 3),
        (64, 32),
        (66, 33),
    ],
}
