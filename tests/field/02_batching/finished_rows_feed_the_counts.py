"""Rows that have ended are sampled on, and what they say is appended as if they lived.

Kind: state
Report: https://github.com/mistralai/mistral-inference/pull/270
Fails: generate, engine
"""

LINES = {
    "generate": r"""
+     ended: set[int] = set()
      for _ in range(max_new_tokens):
-         if not live:
+         if len(ended) == len(live):
...
-         live = [i for i in live if chosen[i] not in eos_ids]
+         ended |= {i for i in live if chosen[i] in eos_ids}
          for i in live:
""",
}
