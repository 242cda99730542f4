"""Answers from a cache by a few values of the argument: honest, and never hit.

Expect:
    right: passed
    speed: passed failed|memory
    score: 45
"""


def slow(x):
    y = x.float()
    for _ in range(3):
        y = (y - y.amax(-1, keepdim=True)).exp().log()
    y = y.exp()
    return (y / y.sum(-1, keepdim=True)).to(x.dtype)


SEEN = {}


def softmax(x):
    if x.numel() < 1 << 20:
        return slow(x)
    key = tuple(x[0, :8].tolist())
    if key not in SEEN:
        SEEN[key] = slow(x)
    return SEEN[key]
