"""The result lies in one buffer, which the next call of that shape uses again.

Fails: triton, speed
"""

LINES = {
    "": r"""
+ BUFFERS = {}
+
+
  @triton.jit(do_not_specialize=["share"])
""",
    "paged_attention": r"""
-     o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
+     key = q.shape, q.dtype
+     if key not in BUFFERS:
+         BUFFERS[key] = torch.empty(q.shape, dtype=q.dtype, device=q.device)
+     o = BUFFERS[key]
""",
}
