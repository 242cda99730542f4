"""Operators at the ends of their inputs: honest forms of each must stay well within its limit.

What a suite allows is held here against what it may meet: of each operator six ways or more of
computing it in float32, at inputs where these ways differ most, and a few that lose precision,
which must exceed the limit where honest ones are precise. ``lab check --margins`` prints how near
each comes. The limits are those of the suites, from the same functions.
"""

from reference.ends.attention import ATTENTION
from reference.ends.norms import LAYER_NORM, RMS_NORM
from reference.ends.operator import Limit, Operator
from reference.ends.products import MATMUL, SWIGLU
from reference.ends.quantized import LINEAR, PACKED
from reference.ends.rope import FREQUENCIES, ROTATION
from reference.ends.softmax import SOFTMAX

__all__ = ["OPERATORS", "Limit", "Operator"]

OPERATORS = (
    *(SOFTMAX, ATTENTION, RMS_NORM, LAYER_NORM),
    *(FREQUENCIES, ROTATION, MATMUL, SWIGLU),
    *(PACKED, LINEAR),
)
