"""Which of torch's operators may work on memory whose numbers only kernels see, by their names."""

from collections.abc import Callable, Collection
from typing import Any

from torch._library.custom_ops import (
    OPDEFS,  # pyright: ignore[reportPrivateImportUsage]  # torch has no public one
)

# What moves values, or changes their dtype, but computes none.
MOVES = frozenset(
    (
        *("clone", "copy", "to", "to_copy", "contiguous", "lift", "lift_fresh", "lift_fresh_copy"),
        *("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "foreach_copy"),
        *("constant_pad_nd", "pad", "fill", "zero", "masked_fill", "tril", "triu", "where"),
        *("reshape", "reshape_alias", "flatten", "unsafe_view", "resolve_conj", "resolve_neg"),
        *("repeat", "tile", "repeat_interleave", "flip", "fliplr", "flipud", "roll", "rot90"),
        *("index", "index_select", "index_put", "index_copy", "index_fill", "unsafe_index"),
        *("gather", "take", "take_along_dim", "embedding", "scatter", "masked_scatter"),
        *("select_scatter", "slice_scatter", "as_strided_scatter", "diagonal_scatter"),
        *("diag", "diag_embed", "block_diag", "unfold_copy", "view_copy", "expand_copy"),
        *("permute_copy", "transpose_copy", "t_copy", "slice_copy", "select_copy", "split_copy"),
        *("squeeze_copy", "unsqueeze_copy", "unbind_copy", "as_strided_copy", "alias_copy"),
    )
)
# What computes element by element, or along an axis. No products of matrices, whatever their form.
ARITHMETIC = frozenset(
    (
        *("add", "sub", "rsub", "mul", "multiply", "div", "true_divide", "neg", "reciprocal"),
        *("abs", "sign", "square", "sqrt", "rsqrt", "pow", "exp", "exp2", "expm1", "log", "log2"),
        *("log10", "log1p", "logaddexp", "logaddexp2", "logsumexp", "softmax", "log_softmax"),
        *("sigmoid", "addcmul", "addcdiv", "lerp", "sum", "nansum", "mean", "cumsum", "diff"),
        *("max", "min", "amax", "amin", "aminmax", "maximum", "minimum", "fmax", "fmin"),
        *("clamp", "clamp_min", "clamp_max", "clip", "floor", "ceil", "round", "trunc"),
        *("remainder", "fmod", "floor_divide", "nan_to_num", "isnan", "isinf", "isfinite"),
        *("isneginf", "isposinf", "eq", "ne", "lt", "le", "gt", "ge", "any", "all"),
        *("and", "or", "xor", "lshift", "rshift", "logical_and", "logical_or", "logical_not"),
        *("logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"),
        *("bitwise_left_shift", "bitwise_right_shift"),
    )
)
MOST_RENEWALS = 40  # so that nobody replays to have more of it: no test has half as many steps


def name_of(operator: object) -> str:
    """Return the base name of an aten operator, without its underscores; "" for any other."""
    space, _, rest = str(operator).partition(".")
    return rest.partition(".")[0].strip("_") if space == "aten" else ""


class Allowance:
    """What torch may do beside kernels with numbers that kernels alone see."""

    def __init__(self, free: Collection[str], elements: int) -> None:
        """``free`` may compute, but on no argument; all others together on so many ``elements``."""
        self._free = frozenset(free)
        self._most = self._elements = elements
        self._renewals = MOST_RENEWALS

    def renew(self) -> None:
        """Let others compute on as many elements again, as a graph has been replayed."""
        if self._renewals:
            self._renewals -= 1
            self._elements = self._most

    def may(self, operator: Any, args: Any, kwargs: Any, *, given: bool, elements: int) -> bool:
        """Tell whether an operator may run; ``given``: on an argument, moved at most."""
        name = name_of(operator)
        sums = _adds_up(operator, args, kwargs)
        if (name in MOVES and not sums) or (name in self._free and not given):
            return True
        fits = (sums or name in ARITHMETIC) and elements <= self._elements
        self._elements -= elements * fits
        return fits


def _adds_up(operator: Any, args: Any, kwargs: Any) -> bool:
    """Tell whether an operator that moves values adds or multiplies where they meet."""
    for place, argument in enumerate(operator._schema.arguments):
        if argument.name in ("accumulate", "reduce"):
            return bool(args[place] if place < len(args) else kwargs.get(argument.name))
    return False


def fills(name: str) -> bool:
    """Tell whether an operator takes a tensor for its form alone."""
    return name.endswith("_like") or name.startswith("new_")


def body_of(operator: Any) -> Callable[..., Any] | None:
    """Return the Python code of an operator that a submission has made by ``torch.library``."""
    made: Any = OPDEFS.get(operator._schema.name)
    bodies = {} if made is None else made._backend_fns
    return bodies.get("cpu", bodies.get(None))
