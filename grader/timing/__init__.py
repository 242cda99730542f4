"""A time is proven: it stops when the right values lie in the judge's memory.

Only the judge imports this, and suites through ``grader.suite``.
"""
