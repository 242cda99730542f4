"""fork counts a holder more for the last block alone: the others are freed twice.

Kind: state
Report: https://github.com/vllm-project/vllm/issues/1556
Report: https://github.com/vllm-project/vllm/pull/3347
Fails: sharing
"""

LINES = {
    "BlockManager.fork": r"""
-         for block in sequence.table:
+         for block in sequence.table[-1:]:
""",
}
