"""torch's pool of threads is whole in what is forked, whichever thread asks for it first."""

import subprocess
import sys

FORKS = """
import ctypes, os, sys, threading
from pathlib import Path
import torch
from grader.worker.threads import own_thread_pool

library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
ask = library._ZN2at15set_num_threadsEi  # at::set_num_threads, without Python's lock
torch.set_num_threads(1)
torch.get_num_threads()  # so that torch does not look after it at the fork

def child():
    own_thread_pool(1)
    threads = [threading.Thread(target=ask, args=(1,)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os._exit(0)

ends = []
for _ in range(60):
    pid = os.fork()
    if pid == 0:
        child()
    ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(*{*ends})
"""


def test_threads_that_ask_for_it_at_once_all_find_it() -> None:
    """One fork in six ended by SIGABRT while each thread could be the first to ask."""
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=300, check=True
    )

    assert done.stdout.split() == ["0"]
