"""Draws from torch's global generator.

Fails: sample, generate
"""

LINES = {
    "_uniform": r"""
+     generator = None
      return float(
""",
    "_draw": r"""
+     generator = None
      device = generator.device if generator else weights.device
""",
}
