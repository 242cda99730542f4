"""Right answers to the questions of lab 05, and wrong ones that each must fail."""

E, H, D = 4096, 32, 128  # of the model in attention_like_weights


def still_needed() -> set[str]:
    """A query is used once, when its token enters; keys and values are read by all that follow."""
    return {"its keys in all layers", "its values in all layers"}


def bytes_of_a_token(layers: int, heads: int, kv_heads: int, width: int) -> float:
    """A key and a value of each key/value head in each layer, two bytes a number."""
    numbers = sum(width for _ in range(layers) for _ in range(kv_heads) for _ in ("key", "value"))
    return numbers * 2 / 1024


def sequences_that_fit(memory: int, weights: int, layers: int, length: int) -> int:
    """A StaticCache has its full length at once: a sequence that would fit half does not fit."""
    left, count = (memory - weights) * 2**30, 0
    sequence = 2 * layers * 8 * 128 * 2 * length
    while left >= sequence:
        left, count = left - sequence, count + 1
    return count


def flops_of_attention(layers: int, heads: int, kv_heads: int, head_dim: int, tokens: int) -> int:
    """Each query head meets each token twice, by D multiplications and additions each time."""
    scores = heads * tokens * head_dim * 2
    values = heads * tokens * head_dim * 2
    return layers * (scores + values)


def attention_like_weights(kv_heads: int, hidden: int) -> float:
    """Two FLOPs a weight against 4 · H · D for each token in the cache."""
    rows_and_columns = [(H * D, E), (kv_heads * D, E), (kv_heads * D, E), (E, H * D)]
    rows_and_columns += [(hidden, E), (hidden, E), (E, hidden)]
    weights = 2 * sum(rows * columns for rows, columns in rows_and_columns)
    return weights / flops_of_attention(1, H, kv_heads, D, 1)


def rows_for_arithmetic(tflops: int, bandwidth: float, bytes: int) -> float:
    """A weight costs its bytes of reading once, and two FLOPs in each row."""
    reading = bytes / (bandwidth * 1e12)
    computing = 2 / (tflops * 1e12)
    return reading / computing


def time_of_a_step(weights: int, bandwidth: float, rows: int, length: int) -> float:
    """The weights are read once for all rows; each row reads a cache of its own."""
    read = weights * 1e9 + sum(length * 128 * 1024 for _ in range(rows))
    return 1000 * read / (bandwidth * 1e12)


def tokens_moved(tokens: int, room: int) -> int:
    """A full buffer moves all that it holds: below two moves a token, as buffers double."""
    held = moved = 0
    for _ in range(tokens):
        if held == room:
            room, moved = 2 * room, moved + held
        held += 1
    return moved


def pairs_lost_to_is_causal(cached: int, chunk: int) -> int:
    """Query t sees keys 0 to t in place of 0 to cached + t."""
    return sum(cached + t + 1 - (t + 1) for t in range(chunk))


def keys_after_a_rewind(
    rows: int, kv_heads: int, width: int, prompt: int, guessed: int, wrong: int, more: int
) -> tuple[int, int, int, int]:
    """rewind takes the last tokens off, and what comes next takes their place."""
    held = list(range(prompt))
    held += list(range(guessed))
    del held[-wrong:]
    held += list(range(more))
    return rows, kv_heads, len(held), width


def caches_by_size() -> list[str]:
    """Layers, width and the 2 are the same: tokens · heads · bytes decide."""
    sizes = {
        "1 sequence of 8192 tokens, 8 key/value heads, float16": 1 * 8192 * 8 * 2,
        "2 sequences of 2048 tokens, 32 key/value heads, float16": 2 * 2048 * 32 * 2,
        "4 sequences of 512 tokens, 8 key/value heads, float32": 4 * 512 * 8 * 4,
        "16 sequences of 512 tokens, 1 key/value head, float32": 16 * 512 * 1 * 4,
    }
    return sorted(sizes, key=lambda text: sizes[text])


RIGHT: dict[str, list[str]] = {
    "flops_of_attention": [
        "4 * layers * heads * head_dim * tokens",
        "2*tokens*(2*head_dim)*heads*layers",
    ],
    "tokens_moved": [
        """def tokens_moved(tokens, room):
    moved = 0
    while room < tokens:
        moved += room
        room *= 2
    return moved
""",
        """def tokens_moved(tokens, room):
    first = room
    for i in range(tokens):
        if i == room:
            room = room + room
    return room - first
""",
    ],
}

WRONG: dict[str, list[object]] = {
    "still_needed": [
        {"its keys in all layers"},
        {"its keys in all layers", "its values in all layers", "its queries in all layers"},
        {"what stands for it in the residual stream behind the last layer"},
    ],
    "bytes_of_a_token": [
        lambda layers, heads, kv_heads, width: layers * kv_heads * width * 2 / 1024,
        lambda layers, heads, kv_heads, width: 2 * layers * heads * width * 2 / 1024,
        lambda layers, heads, kv_heads, width: 2 * layers * kv_heads * width * 2 / 1000,
        lambda layers, heads, kv_heads, width: 2 * kv_heads * width * 2 / 1024,
        lambda layers, heads, kv_heads, width: 2 * layers * kv_heads * width * 4 / 1024,
    ],
    "sequences_that_fit": [
        lambda memory, weights, layers, length: (
            (memory - weights) * 2**30 // (layers * 8 * 128 * 2 * length)
        ),
        lambda memory, weights, layers, length: (
            (memory - weights) * 2**30 // (2 * layers * 32 * 128 * 2 * length)
        ),
        lambda memory, weights, layers, length: (
            memory * 2**30 // (2 * layers * 8 * 128 * 2 * length)
        ),
        lambda memory, weights, layers, length: (
            (memory - weights) * 10**9 // (2 * layers * 8 * 128 * 2 * length)
        ),
        lambda memory, weights, layers, length: (
            (memory - weights) * 2**30 // (2 * layers * 8 * 128 * 2 * length) + 1
        ),
    ],
    "flops_of_attention": [
        "4 * layers * kv_heads * head_dim * tokens",
        "2 * layers * heads * head_dim * tokens",
        "4 * heads * head_dim * tokens",
        "4 * layers * heads * head_dim * tokens ** 2",
    ],
    "attention_like_weights": [
        lambda kv_heads, hidden: attention_like_weights(kv_heads, hidden) / 2,
        lambda kv_heads, hidden: attention_like_weights(kv_heads, hidden) * 2,
        lambda kv_heads, hidden: 2 * 3 * E * hidden / (4 * H * D),
        lambda kv_heads, hidden: 2 * (4 * E * E + 2 * E * hidden) / (4 * H * D),
    ],
    "rows_for_arithmetic": [
        lambda tflops, bandwidth, bytes: tflops / bandwidth,
        lambda tflops, bandwidth, bytes: bytes * tflops / bandwidth,
        lambda tflops, bandwidth, bytes: 2 * tflops / (bytes * bandwidth),
        lambda tflops, bandwidth, bytes: bandwidth / tflops,
    ],
    "time_of_a_step": [
        lambda weights, bandwidth, rows, length: weights / bandwidth,
        lambda weights, bandwidth, rows, length: (
            (weights * 1e9 + length * 128 * 1024) / (bandwidth * 1e9)
        ),
        lambda weights, bandwidth, rows, length: (
            rows * (weights * 1e9 + length * 128 * 1024) / (bandwidth * 1e9)
        ),
        lambda weights, bandwidth, rows, length: (
            (weights * 1e9 + rows * 128 * 1024) / (bandwidth * 1e9)
        ),
    ],
    "tokens_moved": [
        """def tokens_moved(tokens, room):
    moved = 0
    while room <= tokens:
        moved += room
        room *= 2
    return moved
""",
        """def tokens_moved(tokens, room):
    moved = 0
    while room < tokens:
        moved += 1
        room *= 2
    return moved
""",
        """def tokens_moved(tokens, room):
    moved = 0
    while room < tokens:
        room *= 2
        moved += room
    return moved
""",
        """def tokens_moved(tokens, room):
    moved = 0
    for i in range(tokens):
        if i % room == 0:
            moved += i
    return moved
""",
        """def tokens_moved(tokens, room):
    return tokens * (tokens + 1) // 2
""",
    ],
    "pairs_lost_to_is_causal": [
        lambda cached, chunk: cached,
        lambda cached, chunk: chunk * cached + chunk * (chunk - 1) // 2,
        lambda cached, chunk: chunk * (chunk - 1) // 2,
        lambda cached, chunk: (chunk - 1) * cached,
        lambda cached, chunk: chunk * (cached + 1),
    ],
    "keys_after_a_rewind": [
        lambda rows, kv_heads, width, prompt, guessed, wrong, more: ((rows, kv_heads, more, width)),
        lambda rows, kv_heads, width, prompt, guessed, wrong, more: (
            (rows, kv_heads, prompt + guessed + more, width)
        ),
        lambda rows, kv_heads, width, prompt, guessed, wrong, more: (
            (rows, 12, prompt + guessed - wrong + more, width)
        ),
        lambda rows, kv_heads, width, prompt, guessed, wrong, more: (
            (rows, prompt + guessed - wrong + more, kv_heads, width)
        ),
    ],
    "caches_by_size": [
        [
            "2 sequences of 2048 tokens, 32 key/value heads, float16",
            "1 sequence of 8192 tokens, 8 key/value heads, float16",
            "4 sequences of 512 tokens, 8 key/value heads, float32",
            "16 sequences of 512 tokens, 1 key/value head, float32",
        ],
        [
            "4 sequences of 512 tokens, 8 key/value heads, float32",
            "16 sequences of 512 tokens, 1 key/value head, float32",
            "1 sequence of 8192 tokens, 8 key/value heads, float16",
            "2 sequences of 2048 tokens, 32 key/value heads, float16",
        ],
        [
            "16 sequences of 512 tokens, 1 key/value head, float32",
            "4 sequences of 512 tokens, 8 key/value heads, float32",
            "2 sequences of 2048 tokens, 32 key/value heads, float16",
            "1 sequence of 8192 tokens, 8 key/value heads, float16",
        ],
    ],
}

CASES: dict[str, list[tuple[object, ...]]] = {
    "tokens_moved": [
        (0, 4),
        (4, 4),
        (5, 4),
        (8, 4),
        (9, 4),
        (1, 1),
        (2, 1),
        (100, 1),
        (1000, 16),
        (25, 3),
    ],
}
