"""A time that is a list or null raises what float raises.

Fails: trace
"""

LINES = {
    "_timed": r"""
-         except (TypeError, ValueError):
+         except ValueError:
""",
}
