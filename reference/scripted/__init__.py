"""Models without weights, whose every logit is known: suites lend them to submissions.

With them stands what a search or a decoder must make of such a model.
"""
