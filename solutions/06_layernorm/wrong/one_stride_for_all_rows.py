"""Takes all leading axes of x to be spaced like the last of them.

From: variants/passes.py
Fails: forward, backward, speed
"""


def as_rows(x: Tensor) -> Tensor:
    """Return x as [M, N] with its columns side by side."""
    width = x.shape[-1]
    if x.dim() == 1 or not x.numel():
        return x.reshape(-1, width)
    if x.stride(-1) != 1:
        x = x.contiguous()
    rows = x.as_strided((x.numel() // width, width), (x.stride(-2), 1))
    return rows if rows.stride(1) == 1 else rows.contiguous()
