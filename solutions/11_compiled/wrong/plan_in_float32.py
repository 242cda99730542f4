"""Padded rows are added up in 32 bits.

Fails: buckets
"""

LINES = {
    "plan_sizes": r"""
-                 padded = sum(times * (top - n) for n, times in rows[i:j])
+                 padded = float(torch.tensor([float(t * (top - n)) for n, t in rows[i:j]]).sum())
...
-                 options.append((before[i][0] + padded, [*before[i][1], top]))
+                 total = float(torch.tensor(before[i][0], dtype=torch.float32) + padded)
+                 options.append((total, [*before[i][1], top]))
""",
}
