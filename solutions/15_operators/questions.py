"""Right answers to the questions of lab 15, and wrong ones that each must fail."""

from itertools import product


def byte_offset(columns: int, i: int, j: int) -> int:
    """v[i, j] is t[j, 2 i], j rows and 2 i columns behind the first, at 2 bytes each."""
    return (j * columns + 2 * i) * 2


def backward_us(rows: int, width: int, bandwidth: float) -> float:
    """It reads dy, gate and up, and writes two gradients: five tensors of 2 bytes a number."""
    return 5 * rows * width * 2 / (bandwidth * 1e12) * 1e6


def first_bad_row(width: int) -> int:
    """The first whose offset is above 2^31 - 1."""
    row = (2**31 - 1) // width
    while row * width <= 2**31 - 1:
        row += 1
    return row


def kept_residual(residual: int, x: float) -> int:
    """bfloat16 has 8 significant bits: from 512 on it has multiples of 4, from 1024 on of 8."""
    step = residual // 128
    places = range(residual, residual + 4 * step, step)
    return min(places, key=lambda place: (abs(residual + x - place), place // step % 2))


def odd_group(byte: int) -> int:
    """Byte 1 has columns 2 and 3; the odd one is in the high half, and in the second group."""
    columns = [0, 0, byte % 16, byte // 16]
    scale, zero = [3, 2], [1, 4]
    return (columns[3] - zero[3 // 3]) * scale[3 // 3]


def fake_strides(rows: int, width: int) -> tuple[int, int]:
    """The kernel's result is contiguous, however gate lies: its shape is that of t.T, so a row has
    as many elements as t has rows."""
    return (rows, 1)


_ROW = "the result is right but for its last row, which is never written to but 0"
_STRIDES = "the fake has the strides of gate, the kernel's result is contiguous"
_TWICE = "the result of bfloat16 arguments is rounded twice"
_MARK = "residual is written to, and the schema does not say so"
_DTYPE = "the fake's result is always bfloat16"


def opcheck_is_silent() -> set[str]:
    """It does not know what is right, and it sees the arguments that it gets alone: contiguous,
    and float32."""
    return {_ROW, _STRIDES, _TWICE}


_LEFT_OUT = "leave the call out, if nobody uses its result"
_MOVED = "move a later reader of residual before it"
_MERGED = "merge two calls with the same arguments into one"
_RAISED = "raise an error as soon as residual is written to"
_NOTHING = "nothing that it might not do with the mark"


def without_the_mark() -> set[str]:
    """It takes the call for a function of its arguments that changes nothing: what is not needed
    goes, what is alike is done once, and order is free."""
    return {_LEFT_OUT, _MOVED, _MERGED}


def fewest_bytes_first() -> list[str]:
    """In tensors: 2, 3, 4 (x and residual in, residual and result out), 5 and 7."""
    tensors = {
        "silu of one tensor": 1 + 1,
        "silu_mul, fused": 2 + 1,
        "add_rms_norm, fused": 2 + 2,
        "silu, and then times up, as two kernels": (1 + 1) + (2 + 1),
        "silu, times up, and then a copy, as three kernels": (1 + 1) + (2 + 1) + (1 + 1),
    }
    return sorted(tensors, key=lambda name: tensors[name])


def span(sizes: list[int], strides: list[int]) -> int:
    """The last element has the last index in each dimension; each brings (size - 1) strides."""
    offsets = [
        sum(index * stride for index, stride in zip(place, strides, strict=True))
        for place in product(*(range(size) for size in sizes))
    ]
    return max(offsets) + 1 if offsets else 0


def layer_bytes(inputs: int, outputs: int, group: int) -> float:
    """Half a byte a code; a float32 scale and a byte of zero for each group of each row."""
    return outputs * (inputs / 2 + inputs / group * (4 + 1))


def blocks_to_launch(rows: int, width: int) -> int:
    """A thread takes 8 numbers, a block 2048; the last one may be partly idle."""
    return len(range(0, rows * width, 256 * (16 // 2)))


RIGHT = {
    "span": [
        """def span(sizes, strides):
    last = 0
    for d in range(len(sizes)):
        if sizes[d] == 0:
            return 0
        last += (sizes[d] - 1) * strides[d]
    return last + 1""",
        """def span(sizes, strides):
    if min(sizes, default=1) == 0:
        return 0
    return 1 + sum([(n - 1) * s for n, s in zip(sizes, strides)])""",
    ],
    "layer_bytes": [
        "outputs * inputs / 2 + 5 * outputs * inputs / group",
        "outputs * inputs * (0.5 + 5/group)",
    ],
}

WRONG = {
    "byte_offset": [
        lambda columns, i, j: j * columns + 2 * i,  # elements
        lambda columns, i, j: (i * columns + 2 * j) * 2,  # not transposed
        lambda columns, i, j: (j * columns + i) * 2,  # every one
        lambda columns, i, j: (2 * i * 8 + j) * 2,
    ],
    "backward_us": [
        lambda rows, width, bandwidth: 3 * rows * width * 2 / bandwidth / 1e6,  # forward
        lambda rows, width, bandwidth: 4 * rows * width * 2 / bandwidth / 1e6,
        lambda rows, width, bandwidth: 5 * rows * width / bandwidth / 1e6,  # elements
        lambda rows, width, bandwidth: 5 * rows * width * 4 / bandwidth / 1e6,  # float32
    ],
    "first_bad_row": [
        lambda width: 2**31 // width,
        lambda width: -(-(2**32) // width),  # unsigned
        lambda width: -(-(2**31) // (2 * width)),  # bytes
        lambda width: 2**31,
    ],
    "kept_residual": [
        lambda residual, x: residual + x,  # float32
        lambda residual, x: residual + (x if residual < 1024 else round(x)),  # float16
        lambda residual, x: residual + round(x) + 1,
    ],
    "odd_group": [
        lambda byte: (byte % 16 - 4) * 2,  # the even column
        lambda byte: (byte // 16 - 1) * 3,  # the first group
        lambda byte: byte // 16 * 2 - 4,
    ],
    "fake_strides": [
        lambda rows, width: (1, width),  # of gate
        lambda rows, width: (width, 1),  # of t
        lambda rows, width: (1, rows),
        lambda rows, width: (width, rows),  # the shape
    ],
    "opcheck_is_silent": [
        {_ROW, _STRIDES},
        {_ROW},
        {_ROW, _STRIDES, _TWICE, _MARK},
        {_STRIDES, _TWICE, _DTYPE},
    ],
    "without_the_mark": [
        {_MOVED},
        {_LEFT_OUT, _MOVED},
        {_LEFT_OUT, _MOVED, _MERGED, _RAISED},
        {_NOTHING},
    ],
    "fewest_bytes_first": [
        [
            "silu of one tensor",
            "add_rms_norm, fused",
            "silu_mul, fused",
            "silu, and then times up, as two kernels",
            "silu, times up, and then a copy, as three kernels",
        ],
        [
            "silu of one tensor",
            "silu_mul, fused",
            "silu, and then times up, as two kernels",
            "add_rms_norm, fused",
            "silu, times up, and then a copy, as three kernels",
        ],
    ],
    "span": [
        # as if it were contiguous
        """def span(sizes, strides):
    n = 1
    for size in sizes:
        n = n * size
    return n""",
        # behind the last one
        """def span(sizes, strides):
    return sum([n * s for n, s in zip(sizes, strides)])""",
        # no case for no elements
        """def span(sizes, strides):
    return 1 + sum([(n - 1) * s for n, s in zip(sizes, strides)])""",
        # the largest dimension alone
        """def span(sizes, strides):
    return max([n * s for n, s in zip(sizes, strides)])""",
    ],
    "layer_bytes": [
        "outputs * inputs / 2 + 4 * outputs * inputs / group",
        "outputs * inputs + 5 * outputs * inputs / group",
        "outputs * inputs / 2 + 5 * inputs / group",
        "outputs * inputs / 2 + 8 * outputs * inputs / group",
        "outputs * inputs / 2 + 5 * outputs * group",
    ],
    "blocks_to_launch": [
        lambda rows, width: rows * width // 2048,  # without the tail
        lambda rows, width: -(-rows * width // (256 * 16)),  # bytes for numbers
        lambda rows, width: -(-rows * width // 256),
        lambda rows, width: rows * -(-width // 2048),  # a tail in each row
    ],
}

CASES = {
    "span": [
        ([], []),
        ([1], [5]),
        ([0, 4], [4, 1]),
        ([3, 0], [0, 1]),
        ([2, 0, 3], [3, 3, 1]),
        ([5, 0], [7, 2]),
        ([2, 3], [3, 1]),
        ([3, 2], [1, 3]),
        ([4, 5], [10, 2]),
        ([4, 6], [0, 1]),
        ([2, 3, 4], [100, 0, 7]),
    ],
}
