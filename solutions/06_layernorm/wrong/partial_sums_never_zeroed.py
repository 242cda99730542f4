"""Adds the sums of all programs up in memory that nobody has set to zero.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "parameters_kernel": r"""
-     place = tl.program_id(1).to(tl.int64) * width + columns
-     tl.store(dweight + place, dw, mask=mask)
-     tl.store(dbias + place, db, mask=mask)
+     tl.atomic_add(dweight + columns, dw, mask=mask)
+     tl.atomic_add(dbias + columns, db, mask=mask)
""",
    "layer_norm_backward": r"""
-     dweight = torch.empty(parts, width, dtype=torch.float32, device=x.device)
+     dweight = torch.empty(1, width, dtype=torch.float32, device=x.device)
""",
}
