"""The grid has as many blocks as fit the elements: what is left over is left out.

Fails: cuda, speed
"""

LINES = {
    "operators.cu": r"""
-   return static_cast<unsigned int>((count + own - 1) / own);
+   return static_cast<unsigned int>(count / own ? count / own : 1);
""",
}
