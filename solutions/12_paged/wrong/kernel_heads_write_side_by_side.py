"""Each program writes all rows of its tile, those of the next key head too.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-     tl.store(results + at[:, None] * WIDTH + d[None, :], result, mask=mine)
+     mine = (head < share * tl.num_programs(1))[:, None] & (d < WIDTH)[None, :]
+     tl.store(results + at[:, None] * WIDTH + d[None, :], result, mask=mine)
""",
}
