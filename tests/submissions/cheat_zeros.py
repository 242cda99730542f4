"""Returns zeros.

Expect:
    scale: failed skipped
    score: 0
    says: 30 of 30 values of the result are off
"""

import torch


def scale(x, factor):
    return torch.zeros_like(x)
