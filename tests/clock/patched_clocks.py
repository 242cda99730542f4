"""Patches every clock and every synchronize, so that no work is waited for.

Expect:
    right: passed
    speed: passed|failed failed|skipped
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


class Event(torch.cuda.Event):
    def elapsed_time(self, other):
        return 1e-6


torch.cuda.Event = Event
torch.Event = Event
for module in (torch.cuda, torch.cuda.Stream, torch.cuda.Event):
    module.synchronize = lambda *args: None
time.perf_counter = time.monotonic = time.time = lambda: 0.0


def softmax(x):
    return slow(x)
