"""Our kernels beside those of others, timed on one GPU in one run: ``lab bench kernels``.

This is no grading: everything that runs here is trusted, in one process, timed by CUDA events.
What a submission earns is measured by ``grader/timing/trial.py`` alone.
"""
