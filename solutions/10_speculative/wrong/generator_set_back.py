"""The caller's generator is set back after each call.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
+     before = None if generator is None else generator.get_state()
      for i, token in enumerate(draft):
...
-             return [*draft[:i], _draw(rest, generator)]
-     return [*draft, _draw(target_probs[len(draft)], generator)]
+             weights, kept = rest, draft[:i]
+             break
+     else:
+         weights, kept = target_probs[len(draft)], draft
+     emitted = [*kept, _draw(weights, generator)]
+     if generator is not None:
+         generator.set_state(before)
+     return emitted
""",
}
