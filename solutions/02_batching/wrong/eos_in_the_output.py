"""Returns the EOS too.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         live = [i for i in live if chosen[i] not in eos_ids]
          for i in live:
              outputs[i].append(chosen[i])
+         live = [i for i in live if chosen[i] not in eos_ids]
""",
}
