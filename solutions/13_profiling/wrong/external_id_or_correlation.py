"""Whichever id is there first is taken.

Fails: trace
"""

LINES = {
    "_correlation": r"""
-     return event.get("args", {}).get("correlation")
+     args = event.get("args", {})
+     return args.get("External id") or args.get("correlation")
""",
}
