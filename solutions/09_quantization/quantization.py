"""Lab 09, model answer: symmetric int8, packed int4, and kernels that dequantize in registers.

For one row of x a kernel reads 16 bytes of codes at a time and turns a code into a float by two
operations, without a conversion. For more rows it dequantizes tiles for ``tl.dot``.
"""

import copy
from collections.abc import Collection
from typing import Any, Self

import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.nn import functional as F

CHUNK = 16  # bytes that a thread loads at once: 32 weights of int4, 16 of int8
VECTOR = {"ROWS": 16, "CHUNKS": 32, "num_warps": 4}  # of a program, where x is one row
MAGIC: tl.constexpr = tl.constexpr(8388608.0)  # 2**23: in [2**23, 2**24) floats are the integers
MAGIC_BITS = 0x4B000000

# --- int8 ------------------------------------------------------------------------------------


def quantize_int8(w: Tensor) -> tuple[Tensor, Tensor]:  # [O, I] -> int8 [O, I], float32 scale [O]
    """Return symmetric codes, one scale a row."""
    wide = w.detach().float()
    largest = wide.abs().amax(1)
    scale = torch.where(largest > 0, largest / 127, 1.0)
    codes = (wide / scale[:, None]).round().clamp(-127, 127)
    return codes.to(torch.int8), scale


def dequantize_int8(q: Tensor, scale: Tensor) -> Tensor:  # [O, I], [O] -> float32 [O, I]
    """Return the weights that the codes stand for."""
    return q.float() * scale[:, None]


# --- int4 ------------------------------------------------------------------------------------


def quantize_int4(
    w: Tensor,  # [O, I]
    group: int,
) -> tuple[Tensor, Tensor, Tensor]:  # uint8 [O, I/2], scale float32 and zero uint8 [O, I/group]
    """Return packed codes 0..15 of groups whose range holds 0."""
    if w.shape[1] % 2:
        raise ValueError(f"w has {w.shape[1]} columns, an odd number: they share bytes in pairs")
    if w.shape[1] % group:
        raise ValueError(f"group is {group}, which does not divide {w.shape[1]} columns")
    groups = w.detach().float().unflatten(1, (-1, group))  # [O, I/group, group]
    low, high = groups.amin(2).clamp(max=0), groups.amax(2).clamp(min=0)
    scale = torch.where(high > low, (high - low) / 15, 1.0)
    zero = (-low / scale).round()
    codes = (groups / scale[..., None]).round() + zero[..., None]
    codes = codes.clamp(0, 15).to(torch.uint8).flatten(1)
    return codes[:, 0::2] | codes[:, 1::2] << 4, scale, zero.to(torch.uint8)


def dequantize_int4(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    """Return the float32 weights [O, I] that packed codes stand for."""
    codes = torch.stack((packed & 15, packed >> 4), dim=2).flatten(1).float()
    groups = codes.unflatten(1, (-1, group)) - zero[..., None].float()
    return (groups * scale[..., None]).flatten(1)


# --- kernels ---------------------------------------------------------------------------------


@triton.jit
def _words_of(words, row, chunk, chunks, num_out):
    """Load 4 words of each chunk, 16 bytes at a time: [ROWS, CHUNKS, 4]."""
    inside = (row < num_out)[:, None] & (chunk < chunks)[None, :]
    place = (row[:, None] * chunks + chunk[None, :])[:, :, None] * 4
    word = tl.load(words + place + tl.arange(0, 4)[None, None, :], inside[:, :, None], other=0)
    return word.to(tl.uint32, bitcast=True)  # shifts bring zeros in


@triton.jit
def _multiplied(
    acc, word, pair, magic, BITS: tl.constexpr, FIELD: tl.constexpr, BELOW: tl.constexpr
):
    """Add one field of both halves of each word, less BELOW, times their columns of x.

    A field stays where it is in its half, as code << BITS * FIELD: put into the mantissa of 2**23
    it becomes a float without a conversion, and x is divided instead. ``magic`` is 2**23 as bits,
    an argument of the kernel: as a constant it would take the place of the mask in an instruction.
    """
    mask: tl.constexpr = ((1 << BITS) - 1) << (BITS * FIELD)
    offset: tl.constexpr = MAGIC + (BELOW << (BITS * FIELD))
    near, far = tl.split(pair * (1.0 / (1 << (BITS * FIELD))))  # [CHUNKS, 4]
    low = ((word & mask) | magic).to(tl.float32, bitcast=True) - offset
    acc += low * near[None, :, :]
    high = (((word >> 16) & mask) | magic).to(tl.float32, bitcast=True) - offset
    return acc + high * far[None, :, :]


@triton.jit
def _vector4_kernel(
    x, words, scale, zero, y, magic, num_out, chunks, chunks_per_group,
    ROWS: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """Multiply ROWS rows of the weights with x. A word is 8 nibbles, a chunk 4 words."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    eight = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    acc = tl.zeros([ROWS, CHUNKS], tl.float32)
    for start in range(0, chunks, CHUNKS):
        chunk = start + tl.arange(0, CHUNKS)
        word = _words_of(words, row, chunk, chunks, num_out)
        group = row[:, None] * (chunks // chunks_per_group) + (chunk // chunks_per_group)[None, :]
        inside = (row < num_out)[:, None] & (chunk < chunks)[None, :]
        s = tl.load(scale + group, mask=inside, other=0.0)
        z = tl.load(zero + group, mask=inside, other=0).to(tl.float32)
        column = chunk[:, None, None] * 32 + eight[None, :, :]
        value = tl.load(x + column, mask=(chunk < chunks)[:, None, None], other=0.0).to(tl.float32)
        # Columns 0..7 of a word come apart into pairs (0, 4), (2, 6), (1, 5), (3, 7).
        even, odd = tl.split(tl.reshape(value, [CHUNKS, 4, 4, 2]))
        first, third = tl.split(tl.reshape(even, [CHUNKS, 4, 2, 2]))
        second, fourth = tl.split(tl.reshape(odd, [CHUNKS, 4, 2, 2]))
        products = tl.zeros([ROWS, CHUNKS, 4], tl.float32)
        products = _multiplied(products, word, first, magic, 4, 0, 0)
        products = _multiplied(products, word, second, magic, 4, 1, 0)
        products = _multiplied(products, word, third, magic, 4, 2, 0)
        products = _multiplied(products, word, fourth, magic, 4, 3, 0)
        # sum((code - zero) * x) = sum(code * x) - zero * sum(x): the last sum serves all rows.
        total = tl.sum(tl.sum(value, 2), 1)
        acc += s * (tl.sum(products, 2) - z * total[None, :])
    tl.store(y + row, tl.sum(acc, 1), mask=row < num_out)


@triton.jit
def _vector8_kernel(
    x, words, scale, y, magic, num_out, chunks, ROWS: tl.constexpr, CHUNKS: tl.constexpr
):  # fmt: skip
    """Multiply ROWS rows of int8 weights with x. A word is 4 codes, a chunk 4 words."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    four = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    acc = tl.zeros([ROWS, CHUNKS], tl.float32)
    for start in range(0, chunks, CHUNKS):
        chunk = start + tl.arange(0, CHUNKS)
        word = _words_of(words, row, chunk, chunks, num_out) ^ 0x80808080  # code + 128
        column = chunk[:, None, None] * 16 + four[None, :, :]
        value = tl.load(x + column, mask=(chunk < chunks)[:, None, None], other=0.0).to(tl.float32)
        first, second = tl.split(tl.reshape(value, [CHUNKS, 4, 2, 2]))  # columns (0, 2), (1, 3)
        products = tl.zeros([ROWS, CHUNKS, 4], tl.float32)
        products = _multiplied(products, word, first, magic, 8, 0, 128)
        products = _multiplied(products, word, second, magic, 8, 1, 128)
        acc += tl.sum(products, 2)
    s = tl.load(scale + row, mask=row < num_out, other=0.0)
    tl.store(y + row, tl.sum(acc, 1) * s, mask=row < num_out)


@triton.jit
def _tile8_kernel(
    x, codes, scale, y, rows, num_out, width,
    ROWS: tl.constexpr, OUTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Multiply a tile of x with a tile of int8 weights, which every dtype of x holds exactly."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    out = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)[None, :]
    acc = tl.zeros([ROWS, OUTS], tl.float32)
    for start in range(0, width, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        in_x = (row < rows) & (column < width)[None, :]
        value = tl.load(x + row * width + column[None, :], mask=in_x, other=0.0)
        inside = (column < width)[:, None] & (out < num_out)
        code = tl.load(codes + out * width + column[:, None], mask=inside, other=0)
        acc = tl.dot(value, code.to(value.dtype), acc, input_precision="ieee")
    acc *= tl.load(scale + out, mask=out < num_out, other=0.0)
    tl.store(y + row * num_out + out, acc, mask=(row < rows) & (out < num_out))


@triton.jit
def _scale_and_zero(scale, zero, out, column, width, groups, group, inside):
    place = out * groups + column // group
    s = tl.load(scale + place, mask=inside, other=0.0)
    return s, tl.load(zero + place, mask=inside, other=0).to(tl.float32)


@triton.jit
def _tile_kernel(
    x, packed, scale, zero, y, rows, num_out, width, group,
    ROWS: tl.constexpr, OUTS: tl.constexpr, BYTES: tl.constexpr, ONE_GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply a tile of x with a tile of weights; even and odd columns are two products."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    out = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)[None, :]
    groups = width // group
    acc = tl.zeros([ROWS, OUTS], tl.float32)
    for start in range(0, width // 2, BYTES):
        byte = start + tl.arange(0, BYTES)
        even = 2 * byte
        in_x = (row < rows) & (even < width)[None, :]
        x_even = tl.load(x + row * width + even[None, :], mask=in_x, other=0.0)
        x_odd = tl.load(x + row * width + even[None, :] + 1, mask=in_x, other=0.0)
        inside = (even < width)[:, None] & (out < num_out)
        both = tl.load(packed + out * (width // 2) + byte[:, None], mask=inside, other=0)
        if ONE_GROUP:  # all columns of this step share a scale
            s, z = _scale_and_zero(
                scale, zero, out, 2 * start, width, groups, group, out < num_out
            )  # fmt: skip
            s_odd, z_odd = s, z
        else:
            column = even[:, None]
            s, z = _scale_and_zero(scale, zero, out, column, width, groups, group, inside)
            s_odd, z_odd = _scale_and_zero(
                scale, zero, out, column + 1, width, groups, group, inside
            )  # fmt: skip
        w_even = (((both & 15).to(tl.float32) - z) * s).to(x_even.dtype)
        w_odd = (((both >> 4).to(tl.float32) - z_odd) * s_odd).to(x_even.dtype)
        acc = tl.dot(x_even, w_even, acc, input_precision="ieee")
        acc = tl.dot(x_odd, w_odd, acc, input_precision="ieee")
    tl.store(y + row * num_out + out, acc, mask=(row < rows) & (out < num_out))


def int4_matmul(
    x: Tensor,  # [M, I]
    packed: Tensor,  # uint8 [O, I/2]
    scale: Tensor,  # float32 [O, I/group]
    zero: Tensor,  # uint8 [O, I/group]
    group: int,
) -> Tensor:  # [M, O] in x's dtype
    """Return x @ W.T for the weights that the codes stand for, dequantized in the kernel."""
    x, packed, scale, zero = (t.contiguous() for t in (x, packed, scale, zero))
    (rows, width), num_out = x.shape, packed.shape[0]
    y = torch.empty(rows, num_out, dtype=x.dtype, device=x.device)
    if y.numel() == 0:
        return y
    if rows == 1 and group % (2 * CHUNK) == 0 and _whole_chunks(packed):
        sizes = (MAGIC_BITS, num_out, width // (2 * CHUNK), group // (2 * CHUNK))
        _vector4_kernel[_vector_grid(num_out)](
            *(x, packed.view(torch.int32), scale, zero, y, *sizes), **VECTOR
        )
        return y
    tile, outs = _tile(x)
    half = 32 if group % 64 == 0 else 16
    grid = (triton.cdiv(rows, tile), triton.cdiv(num_out, outs))
    blocks = {"ROWS": tile, "OUTS": outs, "BYTES": half, "ONE_GROUP": group % (2 * half) == 0}
    _tile_kernel[grid](x, packed, scale, zero, y, rows, num_out, width, group, **blocks)
    return y


def _int8_matmul(
    x: Tensor,  # [M, I]
    codes: Tensor,  # int8 [O, I]
    scale: Tensor,  # float32 [O]
) -> Tensor:  # [M, O] in x's dtype
    """Return x @ W.T for the weights that the codes stand for, dequantized in the kernel."""
    x, codes, scale = x.contiguous(), codes.contiguous(), scale.contiguous()
    (rows, width), num_out = x.shape, codes.shape[0]
    y = torch.empty(rows, num_out, dtype=x.dtype, device=x.device)
    if y.numel() == 0:
        return y
    if rows == 1 and _whole_chunks(codes):
        sizes = (MAGIC_BITS, num_out, width // CHUNK)
        _vector8_kernel[_vector_grid(num_out)](
            x, codes.view(torch.int32), scale, y, *sizes, **VECTOR
        )
        return y
    tile, outs = _tile(x)
    grid = (triton.cdiv(rows, tile), triton.cdiv(num_out, outs))
    blocks = {"ROWS": tile, "OUTS": outs, "COLUMNS": 64}
    _tile8_kernel[grid](x, codes, scale, y, rows, num_out, width, **blocks)
    return y


def _whole_chunks(stored: Tensor) -> bool:  # contiguous [O, bytes of a row]
    """Return whether each row is a number of 16 bytes, and memory is aligned to them."""
    aligned = stored.data_ptr() % CHUNK == 0 and stored.storage_offset() % 4 == 0
    return aligned and stored.shape[1] % CHUNK == 0


def _vector_grid(num_out: int) -> tuple[int]:
    return (triton.cdiv(num_out, VECTOR["ROWS"]),)


def _tile(x: Tensor) -> tuple[int, int]:
    """Return rows and columns of a tile of the result; float32 takes twice the registers."""
    most = 64 if x.element_size() == 2 else 32
    return min(max(triton.next_power_of_2(x.shape[0]), 16), most), most


# --- linears ---------------------------------------------------------------------------------


class Int8Linear(nn.Module):
    """A linear layer that keeps its weight as int8."""

    codes: Tensor
    scale: Tensor

    def __init__(self, codes: Tensor, scale: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("codes", codes)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", bias)

    @classmethod
    def from_float(cls, linear: nn.Linear) -> Self:
        """Quantize a layer."""
        bias = None if linear.bias is None else linear.bias.detach().clone()
        return cls(*quantize_int8(linear.weight), bias)

    def forward(self, x: Tensor) -> Tensor:  # [..., I] -> [..., O]
        if not x.is_cuda:  # the interpreter would take minutes
            weight = dequantize_int8(self.codes, self.scale).to(x.dtype)
            return F.linear(x, weight, self.bias)
        y = _int8_matmul(x.reshape(-1, x.shape[-1]), self.codes, self.scale)
        y = y.reshape(*x.shape[:-1], y.shape[-1])
        return y if self.bias is None else y + self.bias


class Int4Linear(nn.Module):
    """A linear layer that keeps its weight as packed int4."""

    packed: Tensor
    scale: Tensor
    zero: Tensor

    def __init__(
        self, packed: Tensor, scale: Tensor, zero: Tensor, group: int, bias: Tensor | None
    ) -> None:
        super().__init__()
        self.group = group
        self.register_buffer("packed", packed)
        self.register_buffer("scale", scale)
        self.register_buffer("zero", zero)
        self.register_buffer("bias", bias)

    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> Self:
        """Quantize a layer; ValueError as in quantize_int4."""
        bias = None if linear.bias is None else linear.bias.detach().clone()
        return cls(*quantize_int4(linear.weight, group), group, bias)

    def forward(self, x: Tensor) -> Tensor:  # [..., I] -> [..., O]
        if not x.is_cuda:  # the interpreter would take minutes
            weight = dequantize_int4(self.packed, self.scale, self.zero, self.group)
            return F.linear(x, weight.to(x.dtype), self.bias)
        rows = x.reshape(-1, x.shape[-1])
        y = int4_matmul(rows, self.packed, self.scale, self.zero, self.group)
        y = y.reshape(*x.shape[:-1], y.shape[-1])
        return y if self.bias is None else y + self.bias


# --- model -----------------------------------------------------------------------------------


def quantize_model(
    model: nn.Module, linear_cls: Any, skip: Collection[str] = ("lm_head",)
) -> nn.Module:
    """Return a copy whose linear layers are quantized, but those whose last name is in skip."""
    named = model.named_modules(remove_duplicate=False)
    linears = {
        id(module): module
        for name, module in named
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] not in skip
    }
    # What deepcopy finds in its memo it takes for copied: no float weight is copied to be dropped,
    # and a layer that is used in two places remains one.
    memo: dict[int, Any] = {key: linear_cls.from_float(item) for key, item in linears.items()}
    return copy.deepcopy(model, memo)


# --- cache -----------------------------------------------------------------------------------


class _Tokens:
    """Keys or values in int8, with a scale for each token and head."""

    def __init__(self) -> None:
        self.codes: Tensor | None = None  # int8 [B, G, S, D]
        self.scale: Tensor | None = None  # float32 [B, G, S, 1]

    def add(self, x: Tensor) -> Tensor:  # [B, G, T, D] -> [B, G, S, D]
        flat, scales = quantize_int8(x.reshape(-1, x.shape[-1]))
        codes, scale = flat.reshape(x.shape), scales.reshape(*x.shape[:-1], 1)
        if self.codes is not None and self.scale is not None:
            codes = torch.cat((self.codes, codes), dim=2)
            scale = torch.cat((self.scale, scale), dim=2)
        self.codes, self.scale = codes, scale
        return (codes * scale).to(x.dtype)

    def keep(self, length: int) -> None:
        if self.codes is not None and self.scale is not None:
            self.codes, self.scale = self.codes[:, :, :length], self.scale[:, :, :length]


class QuantizedCache:
    """The keys and values of all tokens so far, in int8. ``length`` (int): tokens held."""

    def __init__(self) -> None:
        self.length = 0
        self._keys, self._values = _Tokens(), _Tokens()

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:  # [B,G,T,D] -> [B,G,S,D]
        """Add T tokens; return all keys and values so far, in the dtype of k and v."""
        self.length += k.shape[2]
        return self._keys.add(k), self._values.add(v)

    def rewind(self, n: int) -> None:
        """Drop the last n tokens."""
        if n > self.length:
            raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
        self.length -= n
        self._keys.keep(self.length)
        self._values.keep(self.length)
