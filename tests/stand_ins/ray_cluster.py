"""A Ray cluster of processes on this machine, whose worker nodes can be killed.

Run as a program it prints its address; each line on standard input then kills a worker node.
"""

import sys

from ray.cluster_utils import Cluster


def main(nodes: int) -> None:
    """Start ``nodes`` of one CPU each; the first is the head."""
    cluster = Cluster()
    cluster.add_node(num_cpus=1)
    workers = [cluster.add_node(num_cpus=1) for _ in range(nodes - 1)]
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    for line in sys.stdin:
        if line == "kill\n" and workers:
            cluster.remove_node(workers.pop(), allow_graceful=False)
            print("killed", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]))
