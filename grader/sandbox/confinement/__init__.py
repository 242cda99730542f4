"""The confinement of a worker: namespaces, system calls, users, limits, the GPU."""
