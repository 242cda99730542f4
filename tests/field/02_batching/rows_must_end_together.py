"""Generation stops when all rows say an EOS in one step; a row that said it before goes on.

Kind: state
Report: https://github.com/Dao-AILab/flash-attention/pull/2784
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         live = [i for i in live if chosen[i] not in eos_ids]
+         live = [] if all(chosen[i] in eos_ids for i in live) else live
""",
}
