"""Questions that a judge can answer for: read, drawn by student, written to a page, judged.

What a student types is read as text alone: formulas and programs are walked as syntax trees within
limits, and nothing of them is ever run. Right answers come from the instructors' ``solutions/``.
"""
