"""Generates max_new_tokens, and cuts the answer at the EOS afterwards.

Fails: generate
"""

LINES = {
    "generate": r"""
-         if token in eos_ids:
-             break
          output.append(token)
...
+     for i in range(len(output)):
+         if output[i] in eos_ids:
+             return output[:i]
      return output
""",
}
