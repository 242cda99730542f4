"""Which of torch's operators may work on memory whose numbers only kernels see, by their names."""

from collections.abc import Callable
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
# What a device runs for nobody: it reads files, lends memory, or gives a tensor another storage.
REFUSED = frozenset(
    (
        "from_file",
        "set",
        "set_data",
        "resize",
        "resize_as",
        "data_ptr",
        "record_stream",
        "pin_memory",
    )
)


def name_of(operator: object) -> str:
    """Return the base name of an aten operator, without its underscores; "" for any other."""
    space, _, rest = str(operator).partition(".")
    return rest.partition(".")[0].strip("_") if space == "aten" else ""


def fills(name: str) -> bool:
    """Tell whether an operator takes a tensor for its form alone."""
    return name.endswith("_like") or name.startswith("new_")


def body_of(operator: Any) -> Callable[..., Any] | None:
    """Return the Python code of an operator that a submission has made by ``torch.library``."""
    made: Any = OPDEFS.get(operator._schema.name)
    bodies = {} if made is None else made._backend_fns
    return bodies.get("cpu", bodies.get(None))
