"""The batch is the ridge, as if weights were all.

Fails: roofline
"""

LINES = {
    "compute_bound_batch": r"""
-     for batch in range(1, limit + 1):
+     ridge = math.ceil(peak / bandwidth)
+     for batch in [ridge] if ridge <= limit else []:
""",
}
