"""Of two neighbours each sends before it receives, and neither send ends.

Kind: contracts
Report: https://github.com/NVIDIA/nccl/issues/479
Fails: all_reduce
"""

LINES = {
    "reduce_scatter": r"""
-         received = peer.exchange(total, (rank + 1) % world, (rank - 1) % world)
+         peer.send(total, (rank + 1) % world)
+         received = peer.recv((rank - 1) % world)
""",
    "all_gather": r"""
-             chunk = peer.exchange(chunk, (rank + 1) % world, (rank - 1) % world)
+             peer.send(chunk, (rank + 1) % world)
+             chunk = peer.recv((rank - 1) % world)
""",
}
