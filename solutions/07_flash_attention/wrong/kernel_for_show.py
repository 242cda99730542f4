"""An empty kernel is launched; the tiled PyTorch version does the work.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "": r"""
+ @triton.jit
+ def _nothing(x_ptr):
+     tl.load(x_ptr)
+
+
  def flash_attention_varlen(
""",
}


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    factor = 1.0 if scale is None else scale * q.shape[-1] ** 0.5
    _nothing[(1,)](q)
    return flash_attention_torch(q * factor, k, v, causal)
