"""Both first weights are stacked and cut into W parts, so that features have other partners.

From: variants/plain.py
Kind: heads
Report: https://github.com/NVIDIA-NeMo/Automodel/pull/1324
Report: https://github.com/vllm-project/vllm/pull/36242
Fails: mlp
"""

LINES = {
    "ParallelMLP.__init__": r"""
-         self.w_gate = own(column_shard(w_gate, rank, world))
-         self.w_up = own(column_shard(w_up, rank, world))
+         column_shard(w_gate, rank, world)
+         gate, up = torch.cat([w_gate, w_up]).chunk(world)[rank].chunk(2)
+         self.w_gate, self.w_up = own(gate), own(up)
""",
}
