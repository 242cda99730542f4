"""Correct values in odd tensors: transposed, conjugated, negated, a Parameter, a subclass.

Expect:
    scale: passed
    score: 95
"""

import itertools
import math

import torch

TURN = itertools.count()


class Mine(torch.Tensor):
    pass


def scale(x, factor):
    if not math.isfinite(factor):
        raise ValueError("factor")
    y = (x.float() * factor).to(x.dtype)
    match next(TURN) % 5:
        case 0:
            return y.transpose(0, 1).contiguous().transpose(0, 1)
        case 1:
            wide = torch.complex(torch.zeros_like(x).float(), -y.float())
            return wide.conj().imag.to(y.dtype)
        case 2:
            return torch.nn.Parameter(y)
        case 3:
            return y.as_subclass(Mine)
        case _:
            return y.requires_grad_() * 1
