"""The squares of all rows so far are added up.

Fails: norm, fake
"""

LINES = {
    "operators.cpp": r"""
    std::vector<float> sums(width);
+   float squares = 0;
...
-     float squares = 0;
""",
}
