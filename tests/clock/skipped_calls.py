"""Works in the first calls only and repeats itself from then on.

Expect:
    right: passed
    speed: passed|failed failed|skipped
    score: 45
"""


def slow(x):
    y = x.float()
    for _ in range(3):
        y = (y - y.amax(-1, keepdim=True)).exp().log()
    y = y.exp()
    return (y / y.sum(-1, keepdim=True)).to(x.dtype)


COUNT = 0
LAST = None


def softmax(x):
    global COUNT, LAST
    if x.numel() < 1 << 20:
        return slow(x)
    COUNT += 1
    if COUNT < 4 or COUNT % 2:
        LAST = slow(x)
    return LAST
