"""The baseline itself: as fast as it is, no faster.

Expect:
    right: passed
    speed: passed
    score: 95
"""

import torch


def softmax(x):
    return torch.softmax(x, -1)
