"""Sum and result run in the dtype of the inputs.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-         acc = torch.zeros_like(rows)
+         acc = torch.zeros_like(rows, dtype=q.dtype)
          top = torch.full_like(rows[..., :1], -math.inf)  # running maximum of the scores
-         total = torch.zeros_like(top)  # running sum of exp(score - top)
+         total = torch.zeros_like(top, dtype=q.dtype)  # running sum of exp(score - top)
...
-             acc = acc * shrink + p @ values[..., j : j + block, :].float()
-             total = total * shrink + p.sum(-1, keepdim=True)
+             new_acc = acc * shrink + p @ values[..., j : j + block, :].float()
+             acc, total = new_acc.to(q.dtype), (total * shrink + p.sum(-1, keepdim=True)).to(q.dtype)
              top = new
-         o[:, :, i : i + block] = (acc / total.clamp(min=1e-30)).reshape(B, H, len(last), D)
-         lse[:, :, i : i + block] = (top + total.log()).reshape(B, H, len(last))
+         o[:, :, i : i + block] = (acc.float() / total.float().clamp(min=1e-30)).reshape(B, H, len(last), D)
+         lse[:, :, i : i + block] = (top + total.float().log()).reshape(B, H, len(last))
""",
}
