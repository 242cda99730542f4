"""Right answers to the questions of lab 08, and wrong ones that each must fail."""


def _ring_all_reduce(nbytes: int, ranks: int) -> int:
    """Count what rank 0 sends, chunk by chunk: W - 1 of W to be summed, then W - 1 to be copied."""
    chunk = nbytes // ranks
    return sum(chunk for _half in range(2) for _step in range(ranks - 1))


def layer_bytes(width: int, ranks: int, tokens: int) -> int:
    """Attention and MLP end in an all-reduce of the layer's output each: tokens x width x 2 bytes,
    and a ring sends 2 (W - 1) / W of them."""
    return 2 * _ring_all_reduce(tokens * width * 2, ranks)


def waiting(layers: int, latency: int, ranks: int) -> float:
    """Two collectives a layer. 16 KiB take a tenth of a microsecond: nearly all is latency."""
    sent = _ring_all_reduce(8192 * 2, ranks)
    return layers * 2 * (latency + sent / 300e9 * 1e6)


def bytes_matter(width: int, latency: int, ranks: int) -> float:
    """A rank sends 2 (W - 1) / W of 2 width bytes for each token; 300 GB/s are 300 kB a
    microsecond."""
    return latency * 300e3 / _ring_all_reduce(width * 2, ranks)


def cache_everywhere(kv_heads: int, ranks: int, head_dim: int) -> int:
    """With more ranks than heads each rank has one whole head: as many copies as ranks, of K and
    of V."""
    held = [max(1, kv_heads // ranks) for _rank in range(ranks)]
    return sum(2 * count * head_dim * 2 for count in held)


def kv_head(heads: int, rank: int) -> int:
    """The one that its first query head reads: query head h reads h // (H / G)."""
    first = rank * (heads // 16)
    return first // (heads // 8)


def output_projection(heads: int, ranks: int, width: int) -> tuple[int, int]:
    """Each rank has the outputs of its own heads, so it is row-parallel: all outputs, a part of the
    inputs."""
    return (width, heads // ranks * 128)


def least_sent_first(ranks: int) -> list[str]:
    """In parts of S: (W - 1) / W, 1, 2 (W - 1) / W and W - 1."""
    sent = {
        "reduce-scatter of the tensor": (ranks - 1) / ranks,
        "broadcast of the tensor": 1.0,
        "all-reduce of the tensor": 2 * (ranks - 1) / ranks,
        "each rank sends its whole tensor to everybody else, and all add up for themselves": (
            ranks - 1.0
        ),
    }
    return sorted(sent, key=lambda name: sent[name])


_COPY_SUM = "forward: each rank takes the same x; backward: sum of the ranks' gradients"
_SUM_COPY = "forward: sum of the ranks' parts; backward: each rank takes the gradient as it comes"
_JOIN_SLICE = (
    "forward: the ranks' parts are joined; backward: each rank keeps its own slice of the gradient"
)
_SUM_SUM = "forward: sum of the ranks' parts; backward: sum of the ranks' gradients"


def pairs() -> set[str]:
    """Backward is the transpose of forward: of copy it is sum, of sum copy, of join slice. Sum
    twice makes gradients W times too large."""
    return {_COPY_SUM, _SUM_COPY, _JOIN_SLICE}


def bias_gradient(ranks: int, gradient: float) -> float:
    """The output is right, but bias enters as bias / W: its gradient is divided by W, and it learns
    W times slower."""
    return gradient / ranks


def rank_weights(
    width: int, heads: int, kv_heads: int, head_dim: int, hidden: int, ranks: int
) -> float:
    """Queries and outputs have H D features, keys and values G D each; the MLP has three matrices.
    All of it is cut, 2 bytes a weight."""
    attention = width * heads * head_dim * 2 + width * kv_heads * head_dim * 2
    return (attention + 3 * width * hidden) * 2 / ranks


def worlds(heads: int, kv_heads: int, hidden: int, most: int) -> list[int]:
    """Ranks must divide query heads and hidden features; of key/value heads and ranks one must
    divide the other."""
    return [
        w
        for w in range(1, most + 1)
        if heads % w == hidden % w == 0 and (kv_heads % w == 0 or w % kv_heads == 0)
    ]


def softmax_between() -> str:
    """A softmax needs the maximum and the sum of exponentials over all features; each rank brings
    one of each, and scales its own features."""
    return "two numbers a token are reduced over the ranks: a maximum and a sum"


RIGHT = {
    "rank_weights": [
        "2 * (2*width*heads*head_dim + 2*width*kv_heads*head_dim + 3*width*hidden) / ranks",
        "width * (head_dim * (heads + kv_heads) * 4 + 6 * hidden) / ranks",
    ],
    "worlds": [
        """def worlds(heads, kv_heads, hidden, most):
    return [w for w in range(1, most + 1)
            if heads % w == 0 and hidden % w == 0
            and (kv_heads % w == 0 or w % kv_heads == 0)]""",
        """def worlds(heads, kv_heads, hidden, most):
    found = []
    for w in range(1, most + 1):
        small = min(w, kv_heads)
        if heads % w == 0 and hidden % w == 0 and max(w, kv_heads) % small == 0:
            found = found + [w]
    return found""",
    ],
}

WRONG = {
    "layer_bytes": [
        lambda width, ranks, tokens: 2 * tokens * width * 2 * (ranks - 1) / ranks,  # one of two
        lambda width, ranks, tokens: 2 * tokens * width * 2 * (ranks - 1) / ranks / 2,
        lambda width, ranks, tokens: 2 * 2 * tokens * width * (ranks - 1) / ranks,  # elements
        lambda width, ranks, tokens: 2 * 2 * tokens * width * 2,  # W for W - 1
        lambda width, ranks, tokens: 3 * 2 * tokens * width * 2 * (ranks - 1) / ranks,
    ],
    "waiting": [
        lambda layers, latency, ranks: layers * (latency + 0.1),  # one a layer
        lambda layers, latency, ranks: layers * 2 * 2 * (ranks - 1) / ranks * 8192 * 2 / 300e3,
        lambda layers, latency, ranks: layers * 2 * (ranks - 1) * latency,
    ],
    "bytes_matter": [
        lambda width, latency, ranks: latency * 300e3 / (width * 2 * (ranks - 1) / ranks),
        lambda width, latency, ranks: latency * 300e3 / (width * 2 * 2),
        lambda width, latency, ranks: latency * 300e3 / (2 * width * (ranks - 1) / ranks * 8),
        lambda width, latency, ranks: latency * 300e3 / (4 * 2 * width * (ranks - 1) / ranks),
    ],
    "cache_everywhere": [
        lambda kv_heads, ranks, head_dim: 2 * kv_heads * head_dim * 2,  # as one process would
        lambda kv_heads, ranks, head_dim: ranks * head_dim * 2,  # keys alone
        lambda kv_heads, ranks, head_dim: 2 * ranks * head_dim,  # elements
        lambda kv_heads, ranks, head_dim: 2 * ranks * kv_heads * head_dim * 2,
    ],
    "kv_head": [
        lambda heads, rank: rank % 8,  # dealt out in turn
        lambda heads, rank: rank,
        lambda heads, rank: rank * (heads // 16),  # the query head
    ],
    "output_projection": [
        lambda heads, ranks, width: (width // ranks, heads * 128),  # column-parallel
        lambda heads, ranks, width: (heads // ranks * 128, width),  # not [out, in]
        lambda heads, ranks, width: (width, heads * 128),
        lambda heads, ranks, width: (width, width // ranks),
    ],
    "least_sent_first": [
        [
            "broadcast of the tensor",
            "reduce-scatter of the tensor",
            "all-reduce of the tensor",
            "each rank sends its whole tensor to everybody else, and all add up for themselves",
        ],
        [
            "reduce-scatter of the tensor",
            "all-reduce of the tensor",
            "broadcast of the tensor",
            "each rank sends its whole tensor to everybody else, and all add up for themselves",
        ],
    ],
    "pairs": [
        {_COPY_SUM, _SUM_COPY},
        {_COPY_SUM, _SUM_COPY, _JOIN_SLICE, _SUM_SUM},
        {_COPY_SUM, _SUM_SUM, _JOIN_SLICE},
    ],
    "bias_gradient": [
        lambda ranks, gradient: gradient,
        lambda ranks, gradient: gradient * ranks,
        lambda ranks, gradient: gradient / ranks**2,
    ],
    "rank_weights": [
        "2 * (width*heads*head_dim + 2*width*kv_heads*head_dim + 3*width*hidden) / ranks",
        "2 * (2*width*heads*head_dim + width*kv_heads*head_dim + 3*width*hidden) / ranks",
        "2 * (2*width*heads*head_dim + 2*width*kv_heads*head_dim + 2*width*hidden) / ranks",
        "(2*width*heads*head_dim + 2*width*kv_heads*head_dim + 3*width*hidden) / ranks",
        "2 * (2*width*heads*head_dim + 2*width*kv_heads*head_dim + 3*width*hidden)",
    ],
    "worlds": [
        """def worlds(heads, kv_heads, hidden, most):
    return [w for w in range(1, most + 1)
            if heads % w == 0 and kv_heads % w == 0 and hidden % w == 0]""",
        """def worlds(heads, kv_heads, hidden, most):
    return [w for w in range(1, most + 1) if heads % w == 0 and hidden % w == 0]""",
        """def worlds(heads, kv_heads, hidden, most):
    return [w for w in range(1, most)
            if heads % w == 0 and hidden % w == 0
            and (kv_heads % w == 0 or w % kv_heads == 0)]""",
    ],
    "softmax_between": [
        "nothing: each rank takes the softmax of its own features",
        "all hidden features of each token are gathered on every rank",
    ],
}

CASES = {
    "worlds": [
        (1, 1, 1, 1),
        (8, 2, 24, 8),
        (8, 8, 30, 16),
        (12, 4, 36, 12),
        (12, 6, 48, 12),
        (64, 8, 28672, 64),
        (8, 2, 7, 8),
        (6, 3, 12, 6),
    ],
}
