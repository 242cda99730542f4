"""Nothing before 0 is work.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-     ends: dict[Any, float] = defaultdict(lambda: -math.inf)
+     ends: dict[Any, float] = defaultdict(float)
""",
}
