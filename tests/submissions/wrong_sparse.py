"""Returns a sparse tensor.

Expect:
    scale: failed skipped
    score: 0
    says: should be a tensor, not a sparse_coo tensor
"""


def scale(x, factor):
    return (x * factor).to_sparse()
