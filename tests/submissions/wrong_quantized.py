"""Returns a quantized tensor.

Expect:
    scale: failed skipped
    score: 0
    says: should be a tensor, not a quantized tensor
"""

import warnings

import torch


def scale(x, factor):
    warnings.simplefilter("ignore")
    return torch.quantize_per_tensor(x * factor, 0.1, 0, torch.qint8)
