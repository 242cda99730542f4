"""n is taken for a rank's share.

Fails: cost
"""

LINES = {
    "bus_bandwidth": r"""
-     share = BUS_SHARES[op]
+     share = BUS_SHARES[op]
+     nbytes *= world if op in ("all_gather", "reduce_scatter") else 1
""",
}
