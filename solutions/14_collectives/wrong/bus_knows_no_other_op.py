"""An op that is not known counts 1.

Fails: cost
"""

LINES = {
    "bus_bandwidth": r"""
-     if op not in BUS_SHARES:
-         raise ValueError(f"op {op!r} is none of {', '.join(BUS_SHARES)}")
-     share = BUS_SHARES[op]
+     share = BUS_SHARES.get(op)
""",
}
