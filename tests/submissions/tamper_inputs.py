"""Sets its input to zero and answers zeros, which a later comparison might find right.

Expect:
    scale: failed skipped
    score: 0
    says: 30 of 30 values of the result are off
"""

import torch


def scale(x, factor):
    whole = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
    whole.zero_()
    return x
