"""Right answers to the questions of lab 13, and wrong ones that each must fail."""


def decode_intensity(batch: int, bits: int) -> float:
    """A weight is one multiply-add for each sequence, 2 operations, on bits / 8 bytes."""
    return 2 * batch / (bits / 8)


def attention_intensity(heads: int, kv_heads: int, batch: int) -> float:
    """A key and a value have 2 x 2 bytes a number, and each of H / G query heads does 2 x 2
    operations with it. A cache belongs to one sequence, so the batch does not help."""
    operations = batch * heads * (2 + 2)
    return operations / (batch * kv_heads * (2 + 2))


def masked_away(new: int, context: int) -> float:
    """The last token sees all, the one before all but one, and so on: T (T - 1) / 2 of T S."""
    dropped = sum(
        1 for query in range(context - new, context) for _key in range(query + 1, context)
    )
    return 100 * dropped / (new * context)


def forward_ms(tokens: int) -> float:
    """The slower of both: 2 operations for each weight and token, 2 bytes for each weight."""
    computing, reading = 2 * 8e9 * tokens / 989e12, 2 * 8e9 / 3.35e12
    return 1e3 * max(computing, reading)


def cache_like_weights(billions: int, context: int) -> float:
    """A token has 128 KiB of keys and values, the weights are 2 bytes each."""
    token = 2 * 32 * 8 * 128 * 2
    return billions * 1e9 * 2 / (context * token)


def whole_step(share: int, factor: int) -> float:
    """The rest takes as long as before: 1 / (1 - s + s / f), by Amdahl."""
    after = (100 - share) + share / factor
    return 100 / after


def self_time(end: int, second: int) -> int:
    """All of it but what its direct children have; the product is the layer's."""
    children = [(5, 30), (30, second)]
    return sum(1 for at in range(end) if not any(start <= at < stop for start, stop in children))


def loop_ms(calls: int, launch: int, work: int, queued: int) -> float:
    """Work runs while the host launches, but behind what was queued: that time is in it, for want
    of a wait before."""
    host, device = 0, queued
    for _call in range(calls):
        host += launch
        device = max(device, host) + work
    return device / calls


def least_intense_first() -> list[str]:
    """2 operations for each token, over the bytes of a weight: 1, 8, 24, 12 and 512."""
    intensity = {
        "decode, 1 sequence, weights of 16 bits": 2 * 1 / 2,
        "decode, 4 sequences, weights of 8 bits": 2 * 4 / 1,
        "decode, 6 sequences, weights of 4 bits": 2 * 6 / 0.5,
        "decode, 12 sequences, weights of 16 bits": 2 * 12 / 2,
        "a prompt of 512 tokens, weights of 16 bits": 2 * 512 / 2,
    }
    return sorted(intensity, key=lambda name: intensity[name])


_LOADING = "loading and compiling kernels"
_MEMORY = "allocations that later calls find in a cache of memory"
_CLOCK = "a clock of the device that rises from idle"
_LAUNCHES = "the host's time for launching each kernel"
_OTHERS = "other processes that disturb a single repeat"


def warm_up() -> set[str]:
    """What happens in the first calls alone. Launches are in every call, and who disturbs comes
    whenever he likes."""
    return {_LOADING, _MEMORY, _CLOCK}


def device_end(launches: list[float], kernels: list[float]) -> float:
    """A kernel starts when it is launched and the one before has ended."""
    host = device = 0
    for launch, kernel in zip(launches, kernels, strict=True):
        host += launch
        device = max(device, host) + kernel
    return device


def decode_bytes(
    weights: int, batch: int, layers: int, kv_heads: int, head_dim: int, context: int
) -> int:
    """Weights are read once for all sequences; keys and values are each sequence's own."""
    return 2 * weights + batch * (2 * layers * kv_heads * head_dim * context * 2)


RIGHT = {
    "device_end": [
        """def device_end(launches, kernels):
    host = 0
    end = 0
    for i in range(len(kernels)):
        host = host + launches[i]
        if host > end:
            end = host
        end = end + kernels[i]
    return end""",
        """def device_end(launches, kernels):
    # some kernel starts at once, all behind it have no gaps
    n = len(kernels)
    return max([sum(launches[:i + 1]) + sum(kernels[i:]) for i in range(n)], default=0)""",
    ],
    "decode_bytes": [
        "2 * weights + 4 * batch * layers * kv_heads * head_dim * context",
        "2*(weights + 2*layers*batch*context*kv_heads*head_dim)",
    ],
}

WRONG = {
    "decode_intensity": [
        lambda batch, bits: batch,  # of 16 bits
        lambda batch, bits: batch / (bits / 8),  # one operation
        lambda batch, bits: 2 * batch / bits,  # a bit
    ],
    "attention_intensity": [
        lambda heads, kv_heads, batch: batch * heads / kv_heads,
        lambda heads, kv_heads, batch: 2 * heads / kv_heads,
        lambda heads, kv_heads, batch: 1,
        lambda heads, kv_heads, batch: heads / kv_heads / 2,
    ],
    "masked_away": [
        50,
        lambda new, context: 100 * (context - new) / context,
        lambda new, context: 100 * new / context,
    ],
    "forward_ms": [
        lambda tokens: 1e3 * (2 * 8e9 * tokens / 989e12 + 2 * 8e9 / 3.35e12),  # the sum
        lambda tokens: 1e3 * min(2 * 8e9 * tokens / 989e12, 2 * 8e9 / 3.35e12),
        lambda tokens: 1e3 * tokens * 2 * 8e9 / 3.35e12,  # read for each token
    ],
    "cache_like_weights": [
        lambda billions, context: billions * 1e9 * 2 / (context * 65536),  # K or V alone
        lambda billions, context: billions * 1e9 / (context * 131072),
        lambda billions, context: billions * 1e9 * 2 / (context * 4096),  # one layer
    ],
    "whole_step": [
        lambda share, factor: factor * share / 100,
        lambda share, factor: 1 + (factor - 1) * share / 100,
        lambda share, factor: factor,
        lambda share, factor: 1 / (1 - share / 100),  # as if it took no time
    ],
    "self_time": [
        lambda end, second: end - (second - 5) - 12,  # the grandchild's too
        lambda end, second: end,
        lambda end, second: end - 25,  # one layer
    ],
    "loop_ms": [
        lambda calls, launch, work, queued: work + launch / calls,  # had it waited before
        lambda calls, launch, work, queued: launch,
        lambda calls, launch, work, queued: launch + work + queued / calls,
        lambda calls, launch, work, queued: queued + work,
    ],
    "least_intense_first": [
        [
            "decode, 1 sequence, weights of 16 bits",
            "decode, 4 sequences, weights of 8 bits",
            "decode, 6 sequences, weights of 4 bits",
            "decode, 12 sequences, weights of 16 bits",
            "a prompt of 512 tokens, weights of 16 bits",
        ],
        [
            "decode, 6 sequences, weights of 4 bits",
            "decode, 1 sequence, weights of 16 bits",
            "decode, 4 sequences, weights of 8 bits",
            "decode, 12 sequences, weights of 16 bits",
            "a prompt of 512 tokens, weights of 16 bits",
        ],
    ],
    "warm_up": [
        {_LOADING, _MEMORY},
        {_LOADING, _MEMORY, _CLOCK, _LAUNCHES},
        {_LOADING, _MEMORY, _CLOCK, _OTHERS},
        {_LOADING},
    ],
    "device_end": [
        "def device_end(launches, kernels):\n    return sum(launches) + sum(kernels)",
        "def device_end(launches, kernels):\n    return max(sum(launches), sum(kernels))",
        """def device_end(launches, kernels):
    if len(kernels) == 0:
        return 0
    return launches[0] + sum(kernels)""",
        """def device_end(launches, kernels):
    if len(kernels) == 0:
        return 0
    return sum(launches) + kernels[-1]""",
    ],
    "decode_bytes": [
        "batch * (2 * weights + 4 * layers * kv_heads * head_dim * context)",
        "2 * weights + 2 * batch * layers * kv_heads * head_dim * context",
        "weights + 2 * batch * layers * kv_heads * head_dim * context",
        "2 * weights + 4 * layers * kv_heads * head_dim * context",
        "2 * weights + 4 * batch * kv_heads * head_dim * context",
    ],
}

CASES = {
    "device_end": [
        ([], []),
        ([5], [2]),
        ([1, 1, 1], [4, 4, 4]),
        ([5, 5, 5], [2, 2, 2]),
        ([2, 9, 1, 1], [6, 3, 8, 1]),
        ([3, 1, 1, 10, 1], [5, 5, 5, 2, 7]),
        ([0, 4, 0], [0, 1, 0]),
    ],
}
