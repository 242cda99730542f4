"""Right and slow: what most of the others do behind their tricks.

Expect:
    right: passed
    speed: passed failed
    score: 45
"""


def slow(x):
    y = x.float()
    for _ in range(3):
        y = (y - y.amax(-1, keepdim=True)).exp().log()
    y = y.exp()
    return (y / y.sum(-1, keepdim=True)).to(x.dtype)


def softmax(x):
    return slow(x)
