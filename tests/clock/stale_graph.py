"""Replays a graph that was captured on the first argument.

Expect:
    right: passed
    speed: passed|failed failed|skipped
    score: 45
"""

import torch


def slow(x):
    y = x.float()
    for _ in range(3):
        y = (y - y.amax(-1, keepdim=True)).exp().log()
    y = y.exp()
    return (y / y.sum(-1, keepdim=True)).to(x.dtype)


GRAPH = None


def softmax(x):
    global GRAPH, RESULT
    if x.numel() < 1 << 20:
        return slow(x)
    if GRAPH is None:
        slow(x)
        torch.cuda.synchronize()
        GRAPH = torch.cuda.CUDAGraph()
        with torch.cuda.graph(GRAPH):
            RESULT = slow(x)
    GRAPH.replay()
    return RESULT
