"""Right answers to the questions of lab 01, and wrong ones that each must fail."""

import struct


def spread_of_scores(width: int, spread: float) -> float:
    """Variances of independent products add up: D times spread², whose root is the deviation."""
    variance = sum(spread**2 * 1 for _ in range(width))
    return variance**0.5


def shifted_positions() -> set[str]:
    """A score depends on the difference of two positions, and so does all behind it."""
    return {"the queries that apply_rope returns", "the keys that apply_rope returns"}


def first_equal_position(bits: int) -> int:
    """With n bits all whole numbers up to 2ⁿ are exact; 2ⁿ + 1 lies half way and goes to even."""
    before, position = 0, 1
    while (rounded := _nearest(position, bits)) != before:
        before, position = rounded, position + 1
    return position


def _nearest(number: int, bits: int) -> int:
    """Round to so many significant bits, ties to even."""
    step = 2 ** max(number.bit_length() - bits, 0)
    return round(number / step) * step


def fewer_kv_heads(heads: int, times: int) -> set[str]:
    """Every query head still scores every key: only what belongs to key heads shrinks."""
    return {
        "the weights of k_proj",
        "the weights of v_proj",
        "the memory of keys and values",
    }


def untied_share(vocabulary: int, width: int, layers: int, millions: int) -> float:
    """The new matrix has V · E elements; the tied model has that once, and its layers."""
    matrix = vocabulary * width
    tied = matrix + layers * millions * 1_000_000
    return 100 * matrix / tied


def positions_computed(prompt: int, new: int) -> int:
    """The first call has the prompt, each later one a token more; the last new one never enters."""
    return sum(prompt + done for done in range(new))


def stacked_projection(heads: int, kv_heads: int, head: int, width: int) -> tuple[int, int]:
    """Rows are outputs: H · D of q, then G · D of k and G · D of v; columns are the model's E."""
    return heads * head + kv_heads * head + kv_heads * head, width


def overflow_at(value: int) -> int:
    """The squares are powers of two, so each sum is exact, until 65536 is reached."""
    total, count = 0.0, 0
    while True:
        total, count = total + value * value, count + 1
        try:
            (total,) = struct.unpack("e", struct.pack("e", total))
        except OverflowError:
            return count


def largest_weights() -> list[str]:
    """V · E, then F · E, H · D · E, G · D · E, and a norm of E."""
    e, f, h, g, d, v = 4096, 14336, 32, 8, 128, 128256
    sizes = {
        "self_attn.q_proj": h * d * e,
        "self_attn.k_proj": g * d * e,
        "mlp.gate_proj": f * e,
        "model.embed_tokens": v * e,
        "input_layernorm": e,
    }
    return sorted(sizes, key=lambda name: -sizes[name])


def parameters(V: int, E: int, F: int, L: int, H: int, G: int, D: int, tied: bool) -> int:
    """Two norms, four projections and three matrices a layer; embedding, last norm, output."""
    layer = [(E, 1), (E, 1), (H * D, E), (G * D, E), (G * D, E), (E, H * D)]
    layer += [(F, E), (F, E), (E, F)]
    shapes = [(V, E), (E, 1), *layer * L] + ([] if tied else [(V, E)])
    return sum(rows * columns for rows, columns in shapes)


def where_they_part() -> str:
    """Only there can rounding change the order of the two; from then on the histories differ."""
    return "one where the two best logits are closer than the errors of rounding"


RIGHT: dict[str, list[str]] = {
    "positions_computed": [
        "new * prompt + new * (new - 1) / 2",
        "new*(2*prompt + new - 1)/2",
        "prompt*new + (new**2 - new)//2",
    ],
    "parameters": [
        """def parameters(V, E, F, L, H, G, D, tied):
    layer = 2 * E + 2 * H * D * E + 2 * G * D * E + 3 * E * F
    total = V * E + E + L * layer
    if not tied:
        total = total + V * E
    return total
""",
        """def parameters(V, E, F, L, H, G, D, tied):
    total = E + V * E
    if tied == False:
        total += V * E
    for i in range(L):
        total += 2 * E * (1 + D * (H + G)) + 3 * F * E
    return total
""",
    ],
}

WRONG: dict[str, list[object]] = {
    "spread_of_scores": [
        lambda width, spread: width * spread,
        lambda width, spread: width**0.5,
        lambda width, spread: width * spread**2,
        lambda width, spread: spread,
        lambda width, spread: (width * spread) ** 0.5,
    ],
    "shifted_positions": [
        {"the queries that apply_rope returns"},
        {
            "the queries that apply_rope returns",
            "the keys that apply_rope returns",
            "the scores q·k",
            "the attention weights",
            "the logits",
            "the greedy text",
        },
    ],
    "first_equal_position": [
        lambda bits: 2**bits,
        lambda bits: 2 ** (bits - 1) + 1,
        lambda bits: 2 ** (bits + 1) + 1,
        lambda bits: 2**bits + 2,
    ],
    "fewer_kv_heads": [
        {"the memory of keys and values"},
        {
            "the weights of k_proj",
            "the weights of v_proj",
            "the memory of keys and values",
            "the multiplications of q·k",
            "the multiplications of attention weights with values",
        },
        {"the weights of q_proj", "the weights of k_proj", "the weights of v_proj"},
    ],
    "untied_share": [
        lambda vocabulary, width, layers, millions: (
            100 * vocabulary * width / (layers * millions * 1e6)
        ),
        lambda vocabulary, width, layers, millions: (
            100 * vocabulary * width / (2 * vocabulary * width + layers * millions * 1e6)
        ),
        lambda vocabulary, width, layers, millions: (
            vocabulary * width / (vocabulary * width + layers * millions * 1e6)
        ),
        lambda vocabulary, width, layers, millions: (
            100 * vocabulary * width / (vocabulary * width + millions * 1e6)
        ),
    ],
    "positions_computed": [
        "new * prompt + new * (new + 1) / 2",
        "prompt + new",
        "new * (prompt + new)",
        "new * prompt + new ** 2 / 2",
    ],
    "stacked_projection": [
        lambda heads, kv_heads, head, width: (3 * heads * head, width),
        lambda heads, kv_heads, head, width: ((heads + kv_heads) * head, width),
        lambda heads, kv_heads, head, width: (width, (heads + 2 * kv_heads) * head),
        lambda heads, kv_heads, head, width: (3, heads * head, width),
    ],
    "overflow_at": [
        lambda value: 65504 // value**2,
        lambda value: 65504 // value,
        lambda value: 65536 // value**2 + 1,
    ],
    "largest_weights": [
        [
            "model.embed_tokens",
            "self_attn.q_proj",
            "mlp.gate_proj",
            "self_attn.k_proj",
            "input_layernorm",
        ],
        [
            "mlp.gate_proj",
            "model.embed_tokens",
            "self_attn.q_proj",
            "self_attn.k_proj",
            "input_layernorm",
        ],
    ],
    "parameters": [
        """def parameters(V, E, F, L, H, G, D, tied):
    total = V * E + L * (2 * E + 2 * H * D * E + 2 * G * D * E + 3 * E * F)
    if not tied:
        total = total + V * E
    return total
""",
        """def parameters(V, E, F, L, H, G, D, tied):
    return 2 * V * E + E + L * (2 * E + 2 * H * D * E + 2 * G * D * E + 3 * E * F)
""",
        """def parameters(V, E, F, L, H, G, D, tied):
    total = V * E + E + L * (2 * E + 4 * E * E + 3 * E * F)
    if not tied:
        total = total + V * E
    return total
""",
        """def parameters(V, E, F, L, H, G, D, tied):
    total = V * E + E + L * (2 * E + H * D * E + 3 * G * D * E + 3 * E * F)
    if not tied:
        total = total + V * E
    return total
""",
        """def parameters(V, E, F, L, H, G, D, tied):
    total = V * E + E + L * (2 * E + 2 * H * D * E + 2 * G * D * E + 2 * E * F)
    if not tied:
        total = total + V * E
    return total
""",
    ],
    "where_they_part": [
        "one where the best logit is too large for bfloat16",
        "the one at position 257, which bfloat16 cannot represent",
        "the first new one, since nearly all logits differ",
    ],
}

CASES: dict[str, list[tuple[object, ...]]] = {
    "parameters": [
        (2048, 256, 704, 8, 8, 2, 32, True),
        (2048, 256, 704, 8, 8, 2, 32, False),
        (128256, 4096, 14336, 32, 32, 8, 128, False),
        (10, 6, 9, 1, 4, 2, 8, True),
        (3, 2, 5, 0, 2, 1, 2, True),
        (3, 2, 5, 0, 2, 1, 2, False),
    ],
}
