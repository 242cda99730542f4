"""Launches on a stream of its own and does not wait for it.

Expect:
    right: passed
    speed: failed skipped
    score: 45
"""

import torch


def slow(x):
    y = x.float()
    for _ in range(3):
        y = (y - y.amax(-1, keepdim=True)).exp().log()
    y = y.exp()
    return (y / y.sum(-1, keepdim=True)).to(x.dtype)


def softmax(x):
    if x.numel() < 1 << 20:
        return slow(x)
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(20):
            y = slow(x)
    return y
