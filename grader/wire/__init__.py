"""What both ends of the socket agree on.

It is loaded in any worker, so it imports torch and nothing of ours. All that speak over the socket
or share memory with a worker may import it.
"""
