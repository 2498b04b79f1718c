#!/usr/bin/env python3
"""Two Belay programs side by side, the same short runs in turn: what a change brought, on a machine whose speed drifts. See README.md."""

import argparse
import json
import os
import random
import signal
import statistics
import sys

import compare
import generator
from generator import figure, median
from servers import allow_open_files, scratch

FIELDS = (("ops/s", "ops_s"), ("p50 us", "lat_us.p50"), ("p99 us", "lat_us.p99"), ("server CPU us/op", "srv_us_op"))


def cells(parser, text):
    """[(row of compare.py, clients)] of W1:16,L1:16"""
    rows = {row.id: row for row in compare.ROWS}
    found = []
    for cell in text.split(","):
        row, _, clients = cell.partition(":")
        if row not in rows or not clients.isdecimal():
            parser.error(f"no row and number of clients: {cell}")
        found.append((rows[row], int(clients)))
    return found


def settings_in(path):
    if not path:
        return {}
    with open(path) as file:
        return json.load(file)


def paired(runs, field):
    """Median over the rounds of the second program's figure by the first one's in the same round."""
    values = [[median([result], field) for result in results] for results in runs]
    return statistics.median(after / before for before, after in zip(*values) if before)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    parser.add_argument("--other", required=True, help="the belay program that is compared with --binary")
    parser.add_argument("--config", help="JSON file of settings for the servers of --binary")
    parser.add_argument("--other-config", help="likewise for those of --other: what a setting costs, if both programs are the same")
    parser.add_argument("--nodes", type=int, default=3, choices=(1, 3), help="servers of each (default 3)")
    parser.add_argument("--cells", default="W1:1,W1:16,R1:16,T1:16,L1:16", help="rows of compare.py and clients (default %(default)s)")
    parser.set_defaults(rounds=16, seconds=0.6)
    options = parser.parse_args()
    chosen = cells(parser, options.cells)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through what ends the servers
    allow_open_files(8000)

    results = {cell: ([], []) for cell in range(len(chosen))}
    with scratch(options.folder, "pair") as (folder, servers):
        clusters = []
        for i, (program, settings) in enumerate(((options.binary, options.config), (options.other, options.other_config))):
            clusters.append(compare.belay(program, os.path.join(folder, str(i)), options.nodes, settings_in(settings)))
            servers += clusters[i]
            compare.fill(options, clusters[i])
        for turn in range(options.rounds):
            print(f"round {turn + 1} of {options.rounds}", file=sys.stderr)
            for cell, (row, clients) in enumerate(chosen):
                for i in random.sample((0, 1), 2):
                    results[cell][i].append(compare.run_row(options, clusters[i], row, clients))

    print("| row | clients | " + " | ".join(f"{name} | other | paired" for name, _ in FIELDS) + " |")
    print("|---|--:|" + "--:|" * 3 * len(FIELDS))
    for cell, (row, clients) in enumerate(chosen):
        shown = [f"{figure(median(results[cell][0], f))} | {figure(median(results[cell][1], f))} | {paired(results[cell], f):.3f}" for _, f in FIELDS]
        print(f"| {row.id} | {clients} | " + " | ".join(shown) + " |")
    return 1 if any(r["wrong"] for runs in results.values() for side in runs for r in side) else 0


if __name__ == "__main__":
    sys.exit(main())
