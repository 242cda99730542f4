"""Torch's own tensor parallelism splits the layer.

From: variants/plain.py
Fails: mlp
"""

from torch.distributed.tensor import parallel

LINES = {
    "ParallelMLP.__init__": r"""
          rank, world = dist.get_rank(group), dist.get_world_size(group)
+         mesh = torch.distributed.device_mesh.DeviceMesh.from_group(group, "cpu")
+         layer = nn.Linear(*w_gate.shape[::-1], bias=False)
+         parallel.parallelize_module(layer, mesh, parallel.ColwiseParallel())
""",
}
