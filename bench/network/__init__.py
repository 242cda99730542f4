"""What a group of ranks can move, measured through the sandbox: ``lab bench collectives``.

The ranks run our own code here, so the times that they tell can be trusted.
"""
