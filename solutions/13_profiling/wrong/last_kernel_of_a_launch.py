"""Of the kernels of a launch the last counts.

Fails: trace
"""

LINES = {
    "attribute": r"""
-     times: dict[str, float] = defaultdict(float)
+     times: dict[str, float] = defaultdict(float)
+     last = {_correlation(event): event for event in events if event.get("cat") in DEVICE}
...
-         if event.get("cat") in DEVICE:
+         if event.get("cat") in DEVICE and last[_correlation(event)] is event:
""",
}
