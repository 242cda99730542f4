"""H that is no multiple of G is not refused.

From: variants/plain.py
Fails: attention
"""

LINES = {
    "attention": r"""
-     if heads % groups:
-         raise ValueError("the heads of q are no multiple of those of k")
-     k, v = (t.float().repeat_interleave(heads // groups, dim=1) for t in (k, v))
+     group = torch.arange(heads, device=q.device) * groups // heads
+     k, v = k[:, group].float(), v[:, group].float()
""",
}
