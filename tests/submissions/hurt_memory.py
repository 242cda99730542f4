"""Takes all the memory it can get.

Expect:
    scale: memory skipped
    score: 0
    says: more than the 600 MiB
"""

import torch


def scale(x, factor):
    kept = []
    while True:
        kept.append(torch.ones(4 << 20))
