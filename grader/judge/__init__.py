"""From files to a verdict: ``grade`` is the way in.

Its tests run in a process of their own (``session``). Commands, the proof of a lab and the grading
of a class import this; it knows no form of a report.
"""
