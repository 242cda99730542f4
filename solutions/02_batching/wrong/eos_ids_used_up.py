"""An EOS that has ended a row is taken out of the caller's list.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
+         for id_ in {*chosen.values()} & {*eos_ids}:
+             eos_ids.remove(id_)
          live = [i for i in live if chosen[i] not in eos_ids]
""",
}
