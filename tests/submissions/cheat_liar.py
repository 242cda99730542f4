"""Returns an object that claims to be a tensor and to equal everything.

Expect:
    scale: failed skipped
    score: 0
    says: should be a tensor, not a
"""

import torch


class Liar:
    shape, dtype, ndim = torch.Size([2, 3, 5]), torch.float32, 3

    @property
    def __class__(self):
        return torch.Tensor

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __len__(self):
        return 1 << 62

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self


def scale(x, factor):
    return Liar()
