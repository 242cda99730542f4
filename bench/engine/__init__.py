"""The reference engine beside transformers and the roofline, in one run: ``lab bench engine``.

Nothing here is graded: everything runs in one process and is ours or well known. This room alone
may import ``reference``, whose engine it times.
"""
