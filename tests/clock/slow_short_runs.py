"""Sleeps at the end of runs that seem short, so that a slope between runs looks flat.

Expect:
    right: passed
    speed: passed failed
    score: 45
"""

import time

import torch


def slow(x):
    y = x.float()
    for _ in range(3):
        y = (y - y.amax(-1, keepdim=True)).exp().log()
    y = y.exp()
    return (y / y.sum(-1, keepdim=True)).to(x.dtype)


CALLS = 0
LONGEST = 0
wait = torch.cuda.synchronize


def synchronize(*args):
    global CALLS, LONGEST
    LONGEST = max(CALLS, LONGEST)
    wait(*args)
    if CALLS < LONGEST:
        time.sleep(0.0008 * LONGEST)
    CALLS = 0


torch.cuda.synchronize = synchronize


def softmax(x):
    global CALLS
    CALLS += 1
    return slow(x)
