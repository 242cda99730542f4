"""A program whose part lies behind the row writes nothing, and nobody has filled its place.

Kind: launches
Report: https://github.com/vllm-project/flash-attention/pull/190
Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-     tl.store(results + at[:, None] * WIDTH + d[None, :], result, mask=mine)
-     tl.store(sums + at, top + tl.log2(some), mask=heads < share)
+     if part * keys < tl.maximum(length, 1):
+         tl.store(results + at[:, None] * WIDTH + d[None, :], result, mask=mine)
+         tl.store(sums + at, top + tl.log2(some), mask=heads < share)
""",
}
