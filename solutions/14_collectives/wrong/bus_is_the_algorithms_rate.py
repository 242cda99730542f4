"""The bus rate is bytes over time, whatever the op.

Fails: cost
"""

LINES = {
    "bus_bandwidth": r"""
-     share = BUS_SHARES[op]
+     share = None
""",
}
