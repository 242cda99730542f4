"""A suite is proven by answers of ours.

Right ones earn everything, wrong ones lose what they should. Only the command line imports this.
"""
