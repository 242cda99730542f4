"""all_to_all goes round twice.

A share is thought to travel there and back, as it does in all_reduce.

From: collectives.py
Fails: cost
"""

RING_STEPS = {"reduce_scatter": 1, "all_gather": 1, "all_to_all": 2, "all_reduce": 2}
