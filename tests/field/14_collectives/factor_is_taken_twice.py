"""The algorithm's rate of all_gather and reduce_scatter has the factor in it, and the bus rate takes it again.

Kind: contracts
Report: https://github.com/NVIDIA/nccl-tests/issues/45
Fails: cost
"""

LINES = {
    "bus_bandwidth": r"""
-     share = BUS_SHARES[op]
+     share = BUS_SHARES[op]
+     if op in ("all_gather", "reduce_scatter"):
+         nbytes = nbytes * (world - 1) / world
""",
}
