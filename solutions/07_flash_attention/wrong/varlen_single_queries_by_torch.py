"""Where each sequence has one query, the PyTorch version attends, sequence by sequence.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "flash_attention_varlen": r"""
      B, (_, H, D) = len(cu_seqlens_q) - 1, q.shape
+     if len(q) == B and bool((cu_seqlens_q.diff() == 1).all()):
+         for b in range(B):
+             c, e = cu_seqlens_k[b : b + 2].tolist()
+             parts = (x.transpose(0, 1)[None] for x in (q[b : b + 1], k[c:e], v[c:e]))
+             o[b : b + 1] = flash_attention_torch(*parts, causal)[0][0].transpose(0, 1)
+         return o
""",
}
