"""The pool of threads that torch computes with, in a process that may have been forked."""

import torch


def own_thread_pool(threads: int) -> None:
    """Make the pool anew; call it in a fork before a second thread is there.

    The first to ask for the pool after a fork replaces that of the parent, without a lock: another
    that asks meanwhile (a backward's own thread on a GPU) finds none, and torch aborts.
    """
    torch.set_num_threads(threads)
