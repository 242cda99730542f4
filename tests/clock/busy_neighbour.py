"""Keeps the GPU busy while it is not called, so that the baseline is slow.

Expect:
    right: passed
    speed: passed failed
    score: 45
"""

import threading
import time

import torch


def slow(x):
    y = x.float()
    for _ in range(3):
        y = (y - y.amax(-1, keepdim=True)).exp().log()
    y = y.exp()
    return (y / y.sum(-1, keepdim=True)).to(x.dtype)


CALLED = time.monotonic()


def burn():
    a = torch.randn(2048, 2048, device="cuda")
    while True:
        if time.monotonic() - CALLED > 0.05:
            a = torch.mm(a, a).tanh_()
            torch.cuda.synchronize()
        else:
            time.sleep(0.005)


def softmax(x):
    global CALLED
    if x.numel() > 1 << 20 and threading.active_count() == 1:
        threading.Thread(target=burn, daemon=True).start()
    CALLED = time.monotonic()
    return slow(x)
