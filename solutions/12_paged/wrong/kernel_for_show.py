"""A kernel is launched for show; torch does the work.

Fails: triton, speed
"""

LINES = {
    "": r"""
+ @triton.jit
+ def _nothing(x_ptr):
+     tl.load(x_ptr)
+
+
  @triton.jit(do_not_specialize=["share"])
""",
}


def paged_attention(
    q: Tensor, k_pool: Tensor, v_pool: Tensor, tables: Tensor, lengths: Tensor
) -> Tensor:
    _nothing[(1,)](q)
    return paged_attention_torch(q, k_pool, v_pool, tables, lengths)
