"""What else a call of the submission does than to call it.

Each is about one case: no function here is running while it holds another, to come or answered.
"""

from typing import Any

import torch

from grader.wire.storage import whole_storage


def gradients(function: Any, tensors: Any, upstream: torch.Tensor, **options: Any) -> Any:
    """Return the gradients of ``sum(function(*tensors) * upstream)``; None where there is none."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    result = function(*leaves, **options)
    return torch.autograd.grad(result, leaves, upstream, allow_unused=True)


def forward(function: Any, tensors: Any) -> Any:
    """Return what the function gives for tensors that require gradients, and these."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    return function(*leaves), leaves


def backward(gone: Any, upstream: torch.Tensor) -> Any:
    """Return the gradients of what went ``forward``."""
    result, leaves = gone
    return torch.autograd.grad(result, leaves, upstream, allow_unused=True)


def overwritten(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a copy of what the function gives, and turn every bit of what it gave."""
    result = function(*args, **kwargs)
    items = result if isinstance(result, tuple | list) else (result,)
    tensors = [item for item in items if isinstance(item, torch.Tensor)]
    copies = {id(tensor): tensor.detach().clone() for tensor in tensors}
    with torch.autograd.grad_mode.inference_mode():  # what was made in it takes no writing outside
        for tensor in tensors:
            whole_storage(tensor).bitwise_not_()
    kept = [copies.get(id(item), item) for item in items]
    return type(result)(kept) if isinstance(result, tuple | list) else kept[0]


WAYS = {"forward": forward, "gradients": gradients, "overwritten": overwritten}
