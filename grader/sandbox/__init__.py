"""A worker is started, walled in, limited and ended.

``process`` holds the threat model. Nothing here knows what is said to a worker or what is judged.
"""
