"""The device: a worker with the true numbers, and of the submission its kernels' text."""
