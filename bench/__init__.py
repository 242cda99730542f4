"""What things cost: the judge itself, our kernels, our engine, collectives.

It decides no verdict, and all that it runs is ours. Only ``lab bench`` imports it.
"""
