"""Returns complex numbers with the right real part.

Expect:
    scale: failed skipped
    score: 0
    says: has dtype complex64, expected float32
"""

import torch


def scale(x, factor):
    return torch.complex(x * factor, x)
