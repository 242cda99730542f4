"""torch attends row by row, by sums; the kernel that is launched does nothing.

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
  def flash_attention(
""",
    "flash_attention": r"""
-     BLOCK_M, BLOCK_N, warps, stages = _sizes(q)
-     row_blocks = triton.cdiv(T, BLOCK_M)
-     _forward[(row_blocks * B * H,)](
-         q, k, v, o, lse, None, None, (D**-0.5 if scale is None else scale) * LOG2_E,
-         T, S, H, H // G, row_blocks,
-         *q.stride(), *k.stride(), *v.stride(), *o.stride(),
-         D, BLOCK_M, BLOCK_N, max(16, triton.next_power_of_2(D)), causal, False, "ieee",
-         num_warps=warps, num_stages=stages,
-     )  # fmt: skip
+     _nothing[(1,)](lse)
+     factor = D**-0.5 if scale is None else scale
+     k, v = (x.float().repeat_interleave(H // G, 1) for x in (k, v))
+     for t in range(T):
+         seen = max(0, t + 1 + S - T) if causal else S
+         scores = (q[:, :, t : t + 1].float() * k[:, :, :seen]).sum(-1) * factor
+         top = scores.amax(-1, keepdim=True) if seen else torch.zeros_like(scores.sum(-1, True))
+         p = torch.exp(scores - top)
+         total = p.sum(-1, keepdim=True)
+         o[:, :, t] = (p[..., None] * v[:, :, :seen]).sum(2) / total.clamp(min=1e-30)
+         lse[:, :, t] = (top + total.log())[..., 0]
""",
}
