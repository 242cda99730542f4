"""Where a row of the norm starts is an int.

Fails: cuda, speed
"""

LINES = {
    "operators.cu": r"""
-     int64_t start = row * width;
+     int start = static_cast<int>(row) * static_cast<int>(width);
""",
}
