"""Query head h reads key head h mod G.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-     head = group * share + heads
+     head = heads * tl.num_programs(1) + group
""",
}
