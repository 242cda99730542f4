"""Calls what the lab forbids.

Expect:
    scale: failed skipped
    store: skipped
    loop: skipped
    score: 0
    says: line 13: torch.mul is not allowed
"""

import torch


def scale(x, factor):
    return torch.mul(x, factor)
