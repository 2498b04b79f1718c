#!/usr/bin/env python3
"""Memory that a load leaves: three servers under puts and transactions for some minutes, then a
minute of rest, beside what the same servers need after a restart. See README.md."""

import argparse
import sys
import time

import compare
import generator
from limits import digests_agree
from servers import allow_open_files, leader_of, scratch, started

WINDOW_MB = 64  # of changes, kept in memory (change_window_bytes)


def private_megabytes(servers):
    return [s.memory()[0] / 1e6 for s in servers]


def load(options, servers):
    """The workloads in turn, until the time is over."""
    end = time.monotonic() + options.minutes * 60
    while time.monotonic() < end:
        for workload, clients, more in (("put", 64, {}), ("txn", 16, {"batch": 16})):
            generator.run(options.load, servers, workload, clients=clients, seconds=options.seconds, warmup=0.1, keys=compare.KEYS, **more)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    parser.add_argument("--minutes", type=float, default=5, help="of load (default %(default)s)")
    parser.add_argument("--rest", type=float, default=60, help="seconds without load before memory is read (default %(default)s)")
    parser.set_defaults(seconds=10)
    options = parser.parse_args()
    allow_open_files(8000)
    with scratch(options.folder, "after-load") as (folder, servers):
        servers += compare.belay(options.binary, folder, 3)
        empty = private_megabytes(servers)
        generator.fill(options.load, servers, compare.KEYS)
        load(options, servers)
        loaded = private_megabytes(servers)
        time.sleep(options.rest)
        rested = private_megabytes(servers)
        same = digests_agree(servers)
        for s in servers:
            s.stop()
        started(servers)
        leader_of(servers)
        time.sleep(min(options.rest, 10))
        restarted = private_megabytes(servers)
    print("| server | empty, MB | under load | after a rest | restarted | limit: 1.5 times restarted + 104 MB |")
    print("|---|--:|--:|--:|--:|--:|")
    over = 0
    for name, *figures in zip((s.name for s in servers), empty, loaded, rested, restarted):
        limit = 1.5 * figures[3] + WINDOW_MB + 40
        over += figures[2] > limit
        print(f"| {name} | " + " | ".join(f"{f:.0f}" for f in (*figures, limit)) + " |")
    print("members alike" if same else "MEMBERS DIFFER")
    return 1 if over or not same else 0


if __name__ == "__main__":
    sys.exit(main())
