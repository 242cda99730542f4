"""What is known of an operator: where its forms differ, the forms, and how far off they may be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

Draw = Callable[[torch.Generator], tuple[Any, ...]]  # the arguments of a form
Form = Callable[..., Tensor]


@dataclass(frozen=True, slots=True)
class Limit:
    """The truth in float64 and the arguments of the comparison, or what it allows each value."""

    want: Tensor
    case: str = ""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    allowed: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """``lossy`` forms must exceed the limit at the end that is called ``calm``."""

    name: str
    ends: Mapping[str, Draw]
    limit: Callable[..., Limit]
    forms: Mapping[str, Form]
    lossy: Mapping[str, Form]
    calm: str = "ordinary"
