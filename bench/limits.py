#!/usr/bin/env python3
"""Three servers on a machine that lacks something: a slow disk, a nearly full one, one slow
follower, one core. Throughput, latency, what clients were told, and whether an acknowledged write
is missing. See README.md."""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time

import compare
import generator
from control_group import processor_share
from generator import figure
from servers import allow_open_files, leader_of, scratch


@contextlib.contextmanager
def slow_syncs(folder, milliseconds):
    """The servers that are started meanwhile wait that much longer for each sync."""
    library = os.path.join(folder, "slow_sync.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_sync.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    os.environ.update(LD_PRELOAD=library, SLOW_SYNC_MS=str(milliseconds))
    try:
        yield
    finally:
        del os.environ["LD_PRELOAD"], os.environ["SLOW_SYNC_MS"]


@contextlib.contextmanager
def nearly_full(folder, megabytes=16384, share=0.9):
    """A file system of that size, of which that share is used. Needs root and a loop device."""
    image, mounted = os.path.join(folder, "disk.img"), os.path.join(folder, "disk")
    os.mkdir(mounted)
    subprocess.run(["truncate", "-s", f"{megabytes}M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, mounted], check=True)
    try:
        subprocess.run(["fallocate", "-l", f"{int(megabytes * share)}M", os.path.join(mounted, "ballast")], check=True)
        yield mounted
    finally:
        subprocess.run(["umount", mounted], check=False)


CONDITIONS = {
    "nothing lacks": "",
    "syncs take 10 ms longer": "slow_syncs 10",
    "syncs take 100 ms longer": "slow_syncs 100",
    "disk 90 % full": "nearly_full",
    "a follower has a tenth of a core": "follower 0.1",
    "all servers share one core": "one_core",
}


def measure(options, name, how, folder):
    """Rows of the table for one condition."""
    rows, (kind, _, amount) = [], how.partition(" ")
    with contextlib.ExitStack() as ended:
        data = ended.enter_context(nearly_full(folder)) if kind == "nearly_full" else folder
        inner, servers = ended.enter_context(scratch(data, "limits"))
        with slow_syncs(folder, float(amount)) if kind == "slow_syncs" else contextlib.nullcontext():
            servers += compare.belay(options.binary, inner, 3)
        generator.fill(options.load, servers, compare.KEYS)
        leader = leader_of(servers)
        if kind == "follower":
            follower = next(s for s in servers if s is not leader)
            with open(ended.enter_context(processor_share(float(amount))), "w") as processes:
                processes.write(str(follower.process.pid))
        if kind == "one_core":
            for s in servers:
                for thread in os.listdir(f"/proc/{s.process.pid}/task"):
                    os.sched_setaffinity(int(thread), {0})
        for workload, clients in options.cells:
            before = leader_of(servers).committed()
            batch = {"batch": 16} if workload == "txn" else {}
            r = generator.run(options.load, servers, workload, clients=clients, seconds=options.seconds, warmup=0.7, keys=compare.KEYS, **batch)
            after = leader_of(servers).committed()
            refused = sum(int(s.metric("/v1/agent/metrics?format=prometheus", "consul_http_shed_writes") or 0) for s in servers)
            missing = max(0, r["ops"] - (after - before))
            rows.append((name, workload, clients, r, refused, missing))
        same = digests_agree(servers)
    return [(*row, same) for row in rows]


def digests_agree(servers, limit=60):
    """Whether all members reach the same index with the same digest of their state."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        states = {(r.get("state_digest_at"), r.get("state_digest")) for r in (s.raft() or {} for s in servers)}
        if len(states) == 1:
            return True
        time.sleep(0.5)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    parser.add_argument("--only", help="conditions whose names contain this")
    parser.add_argument("--cells", default="put:16,put:64,put:256,txn:16", help="workloads and clients (default %(default)s)")
    parser.set_defaults(seconds=5)
    options = parser.parse_args()
    options.cells = [(w, int(n)) for w, _, n in (cell.partition(":") for cell in options.cells.split(","))]
    allow_open_files(8000)
    print("| condition | workload | clients | ops/s | p50 ms | p99 ms | p99.9 ms | max ms | refused | unknown or failed | acknowledged and missing | members alike |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|")
    wrong = 0
    for name, how in CONDITIONS.items():
        if options.only and options.only not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="limits.", dir=options.folder) as folder:
            for _, workload, clients, r, refused, missing, same in measure(options, name, how, folder):
                lat = r["lat_us"]
                times = " | ".join(figure(lat[p] / 1000) if p in lat else "-" for p in ("p50", "p99", "p999", "max"))
                print(f"| {name} | {workload} | {clients} | {figure(r['ops_s'])} | {times} | {refused} | {r.get('errors', 0)} | {missing} | {'yes' if same else 'NO'} |", flush=True)
                wrong += missing + (not same)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
