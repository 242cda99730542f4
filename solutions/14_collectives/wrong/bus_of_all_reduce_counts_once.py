"""all_reduce counts (W - 1) / W, as all_gather does.

Fails: cost
"""

LINES = {
    "bus_bandwidth": r"""
-     share = BUS_SHARES[op]
+     share = BUS_SHARES[op] and 1
""",
}
