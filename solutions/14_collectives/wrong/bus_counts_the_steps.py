"""The factor is 2 (W - 1): each rank's share is n.

Fails: cost
"""

LINES = {
    "bus_bandwidth": r"""
-     return nbytes / seconds * (1 if share is None else share * (world - 1) / world)
+     return nbytes / seconds * (1 if share is None else share * (world - 1))
""",
}
