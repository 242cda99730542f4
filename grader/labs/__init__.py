"""A lab, a submission and a result as frozen data.

Whoever judges, shows or keeps one may import this; it imports no more than words.
"""
