"""One small kernel for a name of ``triton.language``: its body, what it gets, what comes out."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

N = 16
EXACT = 0.0


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel of the pointers x, y, z and out; ``want`` is what it must have stored in out."""

    name: str  # of triton.language
    tried: str  # "float32", "sem=relaxed" …: what of it; cases of one name may share it
    body: str
    ins: tuple[Tensor, ...]
    want: Tensor
    near: float = 1e-6  # relative, and absolute beside 1; EXACT for equal
    grid: tuple[int, ...] = (1,)
    before: str = ""  # functions beside the kernel
    start: float = 0  # what lies in out before the launch
    prints: str = ""  # what must stand in what it printed

    def source(self, function: str) -> str:
        """Return the kernel as the text of a module's part."""
        body = textwrap.indent(textwrap.dedent(self.body).strip(), "    ")
        return f"{self.before}\n\n@triton.jit\ndef {function}(x, y, z, out):\n{body}\n"

    def fails(self, got: Tensor) -> str:
        """Return "" if a result is right, else how far it is off."""
        want = self.want
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"gives {got.dtype} {list(got.shape)}"
        if not want.dtype.is_floating_point or self.near == EXACT:
            bits = torch.equal(got, want) if not want.dtype.is_floating_point else _same(got, want)
            return "" if bits else "other values"
        one, two = got.double(), want.double()
        close = torch.isclose(one, two, rtol=self.near, atol=self.near, equal_nan=True)
        return "" if bool(close.all()) else f"off by up to {_worst(one, two):.0e}"


def _same(got: Tensor, want: Tensor) -> bool:
    one, two = got.double(), want.double()
    return bool(((one == two) | (one.isnan() & two.isnan())).all())


def _worst(got: Tensor, want: Tensor) -> float:
    found = (got - want).abs().nan_to_num(nan=float("inf"), posinf=float("inf"))
    return float(found.max())


def normal(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the same numbers each time."""
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return drawn.to(dtype)


def whole(*shape: int, low: int = -50, high: int = 50, seed: int = 1, dtype: torch.dtype) -> Tensor:
    """Return whole numbers."""
    drawn = torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))
    return drawn.to(dtype)


def lanes(expression: str, count: int, ins: int, size: int = N) -> str:
    """Return a body that stores an expression of a, b, c: the lanes of x, y, z; i is the index."""
    loads = [f"{a} = tl.load({p} + i)" for a, p in zip("abc"[:ins], "xyz", strict=False)]
    first = f"i = tl.arange(0, {size})"
    return "\n".join([first, *loads, f"tl.store(out + tl.arange(0, {count}), {expression})"])


def by_lane(
    name: str,
    expression: str,
    ins: Sequence[Tensor],
    want: Tensor,
    tried: str = "",
    near: float | None = None,
    **more: object,
) -> Case:
    """Return a case of lanes in, lanes out; what is tried is the dtype unless said."""
    tried = tried or str(ins[0].dtype if ins else want.dtype).removeprefix("torch.")
    body = lanes(expression, want.numel(), len(ins), ins[0].numel() if ins else N)
    allowed = NEAR.get(want.dtype, EXACT) if near is None else near
    return Case(name, tried, body, tuple(ins), want, allowed, **more)  # type: ignore[arg-type]


NEAR = {
    torch.float64: 1e-12,
    torch.float32: 2e-6,
    torch.float16: 1e-3,
    torch.bfloat16: 8e-3,
}


def tile(expression: str, ins: int, shape: tuple[int, int], stored: str = "flat") -> str:
    """Return a body that stores an expression of a, b, c: blocks of one shape, row by row.

    ``stored`` says how the result lies: "flat" like the blocks, or an expression of offsets.
    """
    loads = [f"{a} = tl.load({p} + flat)" for a, p in zip("abc"[:ins], "xyz", strict=False)]
    r, c = shape
    first = f"flat = tl.arange(0, {r})[:, None] * {c} + tl.arange(0, {c})[None, :]"
    return "\n".join([first, *loads, f"tl.store(out + {stored}, {expression})"])
