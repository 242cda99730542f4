"""broadcast and reduce count (W - 1) / W.

As if the root kept a share of its own back, which all others did without.

From: collectives.py
Fails: cost
"""

BUS_SHARES = {**RING_STEPS, "broadcast": 1, "reduce": 1}
