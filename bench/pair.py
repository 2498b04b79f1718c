#!/usr/bin/env python3
"""Two Belay programs or settings side by side, in short alternating runs: the effect of a change,
or the cost of a setting, on a machine whose speed drifts. See README.md."""

import argparse
import json
import math
import os
import random
import signal
import statistics
import sys

import compare
import generator
import secured
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


class Side:
    """Servers, and how their clients connect to them."""

    def __init__(self, options, folder, program, settings, kind=None):
        self.folder, self.kind, self.tokens = folder, kind, None
        if kind == "https":
            settings = {**settings, **secured.certificate(program, os.path.join(folder, "certificates"))}
        elif kind == "acl":
            settings = {**settings, **secured.DENY_BY_DEFAULT}
        self.servers = compare.belay(program, folder, options.nodes, settings, kind == "https")

    def fill(self, options):
        if self.kind == "acl":
            self.tokens = secured.fill_acls(self.servers[0], self.folder)
        compare.fill(options, self.servers, self.client("fill"), options.keys)

    def client(self, workload):
        """Options of the load generator."""
        if self.kind == "acl":
            return {"tokens": self.tokens[1 if workload == "watch" else 0]}
        if self.kind == "keys" and workload == "put":
            return {"idempotent": 1}
        return {"tls": "on"} if self.kind == "https" else {}


def paired(runs, field):
    """Medians over the rounds: of the ratio of the second program's figure to the first one's in
    the same round, and of the difference. NaN: the row has no such figure."""
    values = [[median([result], field) for result in results] for results in runs]
    ratios = [after / before for before, after in zip(*values) if before]
    return statistics.median(ratios) if ratios else math.nan, statistics.median(after - before for before, after in zip(*values))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    parser.add_argument("--other", required=True, help="the belay program that is compared with --binary")
    parser.add_argument("--config", help="JSON file of settings for the servers of --binary")
    parser.add_argument("--other-config", help="likewise for those of --other: what a setting costs, if both programs are the same")
    parser.add_argument("--other-with", choices=("acl", "https", "keys"),
                        help="those of --other want tokens, of which there are 1,000; or are asked by HTTPS; or each put has an Idempotency-Key")
    parser.add_argument("--nodes", type=int, default=3, choices=(1, 3), help="servers of each (default 3)")
    parser.add_argument("--cells", default="W1:1,W1:16,R1:16,T1:16,L1:16", help="rows of compare.py and clients (default %(default)s)")
    parser.add_argument("--keys", type=int, default=compare.KEYS, help="of which puts, gets and transactions choose (default %(default)s)")
    parser.set_defaults(rounds=16, seconds=0.6)
    options = parser.parse_args()
    chosen = cells(parser, options.cells)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are ended
    allow_open_files(8000)

    results = {cell: ([], []) for cell in range(len(chosen))}
    with scratch(options.folder, "pair") as (folder, servers):
        sides = []
        for i, (program, settings, kind) in enumerate(((options.binary, options.config, None), (options.other, options.other_config, options.other_with))):
            sides.append(Side(options, os.path.join(folder, str(i)), program, settings_in(settings), kind))
            servers += sides[i].servers
            sides[i].fill(options)
        for round_number in range(options.rounds):
            print(f"round {round_number + 1} of {options.rounds}", file=sys.stderr)
            for cell, (row, clients) in enumerate(chosen):
                for i in random.sample((0, 1), 2):
                    extra = {"keys": options.keys, **row.options, **compare.ways(row, "belay", clients)[0][1], **sides[i].client(row.workload)}
                    results[cell][i].append(compare.run_row(options, sides[i].servers, row, clients, extra))

    print("| row | clients | " + " | ".join(f"{name} | other | other by it" for name, _ in FIELDS) + " | CPU us/op more |")
    print("|---|--:|" + "--:|" * (3 * len(FIELDS) + 1))
    for cell, (row, clients) in enumerate(chosen):
        both = results[cell]
        shown = [f"{figure(median(both[0], f))} | {figure(median(both[1], f))} | {paired(both, f)[0]:.3f}" for _, f in FIELDS]
        print(f"| {row.id} | {clients:,} | " + " | ".join(shown) + f" | {paired(both, 'srv_us_op')[1]:+.2f} |")
    return 1 if any(r["wrong"] for runs in results.values() for side in runs for r in side) else 0


if __name__ == "__main__":
    sys.exit(main())
