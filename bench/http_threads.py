#!/usr/bin/env python3
"""The benefit of several HTTP threads (http_config.threads). Two cores cannot show it by themselves.
So each HTTP thread gets a tenth of a core, by a group of its own in the kernel's CPU controller
(cgroup v1), and is the only scarce resource. See README.md."""

import argparse
import glob
import os
import statistics
import tempfile
import time

import generator
from blocking_queries import Queries, wait_until_parked
from servers import cluster, leader_of, scratch

GROUPS = "/sys/fs/cgroup/cpu/belay_threads"
PERIOD_US = 10_000  # short, so that a thread that has used up its share does not pause for long


def threads_named(pid, name):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*"):
        with open(path + "/comm") as comm:
            if comm.read().strip() == name:
                found.append(int(os.path.basename(path)))
    return sorted(found)


def limit(thread, number, share):
    """Limits that thread to this share of a core."""
    group = f"{GROUPS}/{number}"
    os.makedirs(group, exist_ok=True)
    for name, value in (("cpu.cfs_period_us", PERIOD_US), ("cpu.cfs_quota_us", int(PERIOD_US * share)), ("tasks", thread)):
        with open(f"{group}/{name}", "w") as file:
            file.write(str(value))


def remove_groups():
    for group in sorted(glob.glob(GROUPS + "/[0-9]*"), reverse=True) + [GROUPS]:
        if os.path.isdir(group):
            os.rmdir(group)


def wake(server, watchers, times):
    """Milliseconds from each of some writes to the last client that waits for the key."""
    server.ask("PUT", "/v1/kv/wake", b"0")
    queries = Queries(server.http_port, watchers)
    took = []
    for i in range(times):
        index = server.raft()["applied_index"]
        queries.send(f"/v1/kv/wake?index={index}&wait=10m" for _ in range(watchers))
        wait_until_parked(server, watchers)
        begin = time.monotonic()
        server.ask("PUT", "/v1/kv/wake", f"changed {i}".encode())
        took.append((max(arrived for _, _, arrived in queries.answers(watchers)) - begin) * 1000)
    queries.close()
    return statistics.median(took)


def measure(options, count):
    figures = {}
    with scratch(options.folder, "threads") as (folder, servers):
        servers += cluster(options.binary, folder, 1, {"http_config": {"threads": count}, "limits": {"http_max_conns_per_client": 0}})
        server = leader_of(servers)
        generator.fill(options.load, servers, 1000)
        threads = threads_named(server.process.pid, "http")
        if len(threads) != count:
            raise SystemExit(f"{len(threads)} threads serve clients, and not {count}")
        if options.share < 1:
            for number, thread in enumerate(threads):
                limit(thread, number, options.share)
        for name, workload, how in (
            ("get", "get", {"read": "default"}),
            ("stale get", "get", {"read": "stale"}),
            ("put", "put", {}),
        ):
            r = generator.run(options.load, servers, workload, clients=options.clients, keys=1000, vsize=256, seconds=options.seconds, **how)
            if r["wrong"]:
                raise SystemExit(f"{name}: {r['wrong']} wrong")
            figures[name + "s a second"] = r["ops_s"]
            figures[name + ", p99 in us"] = r["lat_us"]["p99"]
            figures[name + ", CPU us of the server"] = r["srv_us_op"]
        if options.watchers:
            figures["last of the woken, ms"] = wake(server, options.watchers, 5)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--share", type=float, default=0.1, help="of a core for each thread (default 0.1); 1: no limit")
    parser.add_argument("--threads", default="1,2,4")
    parser.add_argument("--watchers", type=int, default=1000, help="who wait for one key (default 1000)")
    options = parser.parse_args()
    kinds = [int(n) for n in options.threads.split(",")]
    figures = {n: [] for n in kinds}
    try:
        for _ in range(options.rounds):
            for n in kinds:
                figures[n].append(measure(options, n))
    finally:
        remove_groups()
    names = list(figures[kinds[0]][0])
    print("| | " + " | ".join(f"{n} thread{'s' if n > 1 else ''}" for n in kinds) + " | " + " | ".join(f"{n} : {kinds[0]}" for n in kinds[1:]) + " |")
    print("|---|" + "--:|" * (2 * len(kinds) - 1))
    for name in names:
        values = [statistics.median(f[name] for f in figures[n]) for n in kinds]
        print(f"| {name} | " + " | ".join(f"{v:,.1f}" if v < 100 else f"{v:,.0f}" for v in values) + " | " + " | ".join(f"{v / values[0]:.2f}" for v in values[1:]) + " |")


if __name__ == "__main__":
    main()
