"""Knows the public case by heart.

Expect:
    scale: failed skipped
    score: 0
    says: values of the result are off
"""

import torch


def scale(x, factor):
    known = torch.tensor([[1.0, -2.0, 0.5]])
    return known * 2 if x.shape == known.shape else x.clone()
