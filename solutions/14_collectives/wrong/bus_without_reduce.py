"""reduce is an op that is not known.

The handout names six ops, of which five are asked for most.

From: collectives.py
Fails: cost
"""

BUS_SHARES = {**RING_STEPS, "broadcast": None}
