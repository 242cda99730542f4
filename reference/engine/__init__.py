"""An engine near the limit: what labs 01 to 12 teach, put together for speed.

It is nobody's oracle. The labs' slots show one idea each; here they meet: weights joined, a cache
that stays where it is, one compiled graph for each batch size and reach, replayed as a CUDA graph.
"""
