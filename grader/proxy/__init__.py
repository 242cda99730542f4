"""What a test holds in its hands: the trusted end of the conversation with a worker.

Every reply may be a lie, so each is checked here before a test sees it. ``timing`` and ``judge``
build on this; suites get it through ``grader.suite``.
"""
