"""Lab 06: layer normalisation as Triton kernels, forward and backward.

Letters: M rows (all leading axes flattened), N columns (the axis that is normalised).
Each function launches kernels that you write above it, marked with ``@triton.jit``: the handout has
an example. For them, ``import triton`` and ``import triton.language as tl``. Without a GPU kernels
run under Triton's interpreter (``TRITON_INTERPRET=1``): slowly, one program after the other; there
you may ``print`` in them.
"""

from torch import Tensor

# --- Task 1: forward -------------------------------------------------------------------------


def layer_norm_forward(
    x: Tensor,  # [..., N], any strides
    weight: Tensor,  # [N]
    bias: Tensor,  # [N]
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # y [..., N] in x's dtype, mean [M] and rstd [M] in float32
    """Normalise each row by its mean and its biased variance, then scale and shift by column.

    y = (x - mean) * rstd * weight + bias with rstd = 1 / sqrt(variance + eps), computed in float32.
    """
    raise NotImplementedError("forward: layer_norm_forward")


# --- Task 2: backward ------------------------------------------------------------------------


def layer_norm_backward(
    dy: Tensor,  # [..., N], any strides
    x: Tensor,  # [..., N], any strides
    weight: Tensor,  # [N]
    mean: Tensor,  # [M] float32, as the forward returned it
    rstd: Tensor,  # [M] float32, as the forward returned it
) -> tuple[Tensor, Tensor, Tensor]:  # dx [..., N] in x's dtype, dweight and dbias [N] in weight's
    """Return the gradients of x, weight and bias for the upstream gradient ``dy``.

    A ``torch.sum`` over partial sums of dweight and dbias that your kernels wrote is allowed.
    """
    raise NotImplementedError("backward: layer_norm_backward")


def layer_norm(
    x: Tensor,  # [..., N], any strides
    weight: Tensor,  # [N]
    bias: Tensor,  # [N]
    eps: float = 1e-5,
) -> Tensor:  # [..., N] in x's dtype
    """Normalise the last axis, differentiably: a ``torch.autograd.Function`` over the two above."""
    raise NotImplementedError("backward: layer_norm")
