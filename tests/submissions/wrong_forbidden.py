"""Calls what the lab forbids.

Expect:
    scale: failed skipped
    score: 0
    says: torch.mul is not allowed
"""

import torch


def scale(x, factor):
    return torch.mul(x, factor)
