"""Other spellings of an op are taken for it.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
  def communication_bytes(op: str, elements: int, element_size: int, world: int) -> float:
+     op = op.strip().lower().replace("-", "_").replace("allreduce", "all_reduce")
""",
}
