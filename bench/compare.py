#!/usr/bin/env python3
"""Compares Belay with the etcd, Consul and ZooKeeper installed here: the same work, by the same
load generator, on this machine. See README.md."""

import argparse
import collections
import json
import signal
import sys

import counting
import generator
import peers
from generator import figure, median
from servers import allow_open_files, cluster, scratch

# clients: those of --clients if None. counted: measure an operation's requests, bytes, entries and
# syncs.
ALL = ("consul", "etcd", "zookeeper")
Row = collections.namedtuple("Row", "id what workload options clients protocols counted", defaults=(None, ALL, False))
KEYS = 10_000  # from which puts, gets and transactions choose
CONNECTED = ("lock", "elect", "watch")  # workloads in which each client has a connection of its own
ROWS = [
    Row("W1", "put", "put", {}),
    Row("R1", "get, linearizable", "get", {"read": "strong"}),
    Row("RD", "get, the Consul API's default mode", "get", {"read": "default"}, protocols=("consul",)),
    Row("R2", "get, stale (etcd: serializable)", "get", {"read": "stale"}),
    Row("M1", "90 % linearizable get, 10 % put", "mixed", {"read": "strong"}),
    Row("T1", "transaction of 16 puts", "txn", {"batch": 16}),
    Row("P1", "list 1,000 keys with their values", "list", {"prefix": "list", "keys": 1000}, (1, 16), ("consul", "etcd")),
    Row("L1", "hand one lock on among so many", "lock", {}, (16,), counted=True),
    Row("L2", "hand one lock on among so many, by the store's best way", "lock", {}, (16, 256, 1000), counted=True),
    Row("E1", "hand an election on among so many, who ask again", "elect", {}, (16,), counted=True),
    Row("E1C", "hand an election on, each leads once", "elect", {"rejoin": 0}, (64,), counted=True),
    Row("S1", "session or lease: create, renew, destroy", "session", {}),
    Row("S2", "renew one of 10,000 sessions", "renew", {}, (64,), counted=True),
    Row("S2L", "the same in lists of 100", "renew", {}, (64,), counted=True),
    Row("B1", "write one key that so many watch, until all know", "watch", {"prefix": "watch", "rounds": 20}, (1000,)),
]

# Clients of etcd share 4 connections, as in its official client. If that, or its official recipe,
# is not the fastest way to use etcd, the other is measured too; so is what Belay adds to Consul's
# API, besides Consul's own way. For a row and a store: the names of its ways, and their options for
# a number of clients. The first one counts for Belay.
def own_connections(clients):
    return {"conns": clients} if clients > 4 else None


def always(**options):
    return lambda _: options


WAYS = {
    ("W1", "etcd"): [("", None), ("own connections", own_connections)],
    ("R1", "etcd"): [("", None), ("own connections", own_connections)],
    ("L1", "etcd"): [("", None), ("tuned recipe", always(lock_tuned=1))],
    ("B1", "etcd"): [("", None), ("8 connections", always(conns=8))],
    ("L2", "belay"): [("", always(lock_claims=1)), ("recipe", always())],
    ("L2", "etcd"): [("recipe", always()), ("Lock RPC", always(lock_rpc=1)), ("tuned recipe", always(lock_tuned=1))],
    ("L2", "zookeeper"): [("recipe", always())],
    ("L2", "consul"): [("recipe", always())],
    ("E1", "belay"): [("", always(lock_claims=1))],
    ("E1", "etcd"): [("Election RPC", always(lock_rpc=1))],
    ("E1", "zookeeper"): [("recipe", always())],
    ("E1", "consul"): [("recipe", always())],
    ("S2", "etcd"): [("", None), ("own connections", own_connections)],
    ("S2L", "belay"): [("", always(renew_list=100))],
    ("S2L", "etcd"): [("100 at once on a stream", lambda clients: {"renew_list": 100, "conns": min(clients, 4)})],
    ("S2L", "zookeeper"): [("one by one", always())],
    ("S2L", "consul"): [("one by one", always())],
}
WAYS |= {("E1C", store): ways for (row, store), ways in WAYS.items() if row == "E1"}


def ways(row, store, clients):
    """The ways in which the clients of a row use a store: names, and options."""
    usual = {"conns": min(clients, 4)} if store == "etcd" and row.workload not in CONNECTED else {}
    found = [(name, usual if options is None else options(clients)) for name, options in WAYS.get((row.id, store), [("", None)])]
    return [(f" ({name})" if name else "", options) for name, options in found if options is not None]


def belay(program, folder, count, config=None, https=False):
    """Belay's servers, which allow as many connections of one client as the rows need, with
    counters since the start."""
    needed = {"limits": {"http_max_conns_per_client": 3000}, "telemetry": {"prometheus_retention_time": "1h"}}
    return cluster(program, folder, count, {**needed, **(config or {})}, https)


def fill(options, servers, extra=None, keys=KEYS):
    """Writes what the rows expect. @param extra options of the load generator, here and below"""
    for prefix, keys in (("bench", keys), ("list", 1000), ("watch", 1)):
        generator.fill(options.load, servers, keys, prefix=prefix, **(extra or {}))


def run_row(options, servers, row, clients, extra=None, window=None):
    count = {"watchers": clients} if row.workload == "watch" else {"clients": clients}
    steady = {"seconds": options.seconds, "warmup": min(0.7, options.seconds / 2)}
    return generator.run(options.load, servers, row.workload, window, **count, **{**steady, **row.options, **(extra or {})})


def measure(options, name, servers, rows, results):
    """Runs every row once at one store."""
    fill(options, servers)
    for row in rows:
        if servers[0].protocol not in row.protocols:
            continue
        for clients in row.clients or options.clients:
            for way, extra in ways(row, name, clients):
                if servers[0].protocol == "etcd" and row.workload in ("get", "list"):
                    servers[0].settle()
                window = counting.Window(servers, options.strace and row.counted)
                result = run_row(options, servers, row, clients, extra, window)
                results.append({**result, "row": row.id, "clients": clients, "server": name + way, "store": name, "nodes": len(servers)})


def table(rows, results):
    """Medians, as {(row, clients): {server: median of}}, printed as Markdown."""
    print("| row | clients | server | ops/s | p50 ms | p99 ms | p99.9 ms | max ms | server CPU us/op | disk bytes/op |")
    print("|---|--:|---|--:|--:|--:|--:|--:|--:|--:|")
    medians = {}
    for row in rows:
        for clients in sorted({r["clients"] for r in results if r["row"] == row.id}):
            of_cell = collections.defaultdict(list)
            for r in results:
                if (r["row"], r["clients"]) == (row.id, clients):
                    of_cell[r["server"]].append(r)
            for server, runs in of_cell.items():
                p50, p99, cpu = (median(runs, field) for field in ("lat_us.p50", "lat_us.p99", "srv_us_op"))
                # The pauses between the writes of a watch row do not depend on the server;
                # sequential writes do.
                speed = 1e6 / p50 if row.workload == "watch" and p50 else median(runs, "ops_s")
                medians.setdefault((row.id, clients), {})[server] = (speed, cpu)
                wrong = sum(r["wrong"] for r in runs)
                note = f" **{wrong} wrong**" if wrong else ""
                shown = "-" if row.workload == "watch" else figure(speed)
                late = " | ".join(figure(median(runs, f"lat_us.{field}") / 1000) for field in ("p999", "max"))
                print(f"| {row.id} | {clients:,} | {server}{note} | {shown} | {figure(p50 / 1000)} | {figure(p99 / 1000)} | {late} | {figure(cpu)} | {figure(median(runs, 'disk_bytes_op'))} |")
    return medians


def counts(rows, results):
    """The cost of one operation of the counted rows (medians), printed as Markdown."""
    rows = [row for row in rows if row.counted]
    if not rows:
        return
    print("\nFor one operation, counted: requests of the clients and their bytes, entries of the log, syncs of each server. Jain's index")
    print("of the grants: 1 if all clients had as many (behind it: the best that so few grants allow).\n")
    print("| row | clients | server | requests | sent bytes | received bytes | entries | syncs | Jain |")
    print("|---|--:|---|--:|--:|--:|--:|--:|--:|")
    fields = ("requests_op", "sent_op", "received_op", "commits_op", "syncs_op")
    for row in rows:
        cells = collections.defaultdict(list)
        for r in results:
            if r["row"] == row.id:
                cells[(r["clients"], r["server"])].append(r)
        for (clients, server), runs in sorted(cells.items(), key=lambda cell: cell[0][0]):
            shown = " | ".join(figure(median(runs, field)) for field in fields)
            fair = f"{median(runs, 'jain'):.4f} ({median(runs, 'jain_best'):.4f})" if "jain" in runs[0] and row.options.get("rejoin", 1) else "-"
            print(f"| {row.id} | {clients:,} | {server} | {shown} | {fair} |")


def ratios(rows, medians):
    print("\nAbove 1, Belay is better: so many times the operations of the best other, so many times less processor time of the servers.\n")
    print("| row | what | clients | ops/s | best other | server CPU | best other |")
    print("|---|---|--:|--:|---|--:|---|")
    for row in rows:
        for (identity, clients), servers in medians.items():
            others = {name: figures for name, figures in servers.items() if not name.startswith("belay")}
            if identity != row.id or "belay" not in servers or not others:
                continue
            speed, cpu = servers["belay"]
            fastest = max(others, key=lambda name: others[name][0])
            thriftiest = min(others, key=lambda name: others[name][1])
            times = [f"{a / b:.2f}" if b else "-" for a, b in ((speed, others[fastest][0]), (others[thriftiest][1], cpu))]
            print(f"| {row.id} | {row.what} | {clients:,} | {times[0]} | {fastest} | {times[1]} | {thriftiest} |")
    print("\nWatch rows: the speed is 1 / p50.")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    peers.add_arguments(parser)
    parser.add_argument("--strace", action="store_true", help="count syncs by strace, as root: of Consul, too. No times are right then")
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 3), help="servers of each (default 1)")
    parser.add_argument("--rows", default=",".join(r.id for r in ROWS), help="which rows (default: all: %(default)s)")
    parser.add_argument("--clients", default="1,16,64", help="clients of the rows that have no number of their own (default %(default)s)")
    parser.add_argument("--json", help="a file for what the generator said of each run")
    options = parser.parse_args()
    wanted = options.rows.split(",")
    unknown = set(wanted) - {r.id for r in ROWS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    options.clients = [int(c) for c in options.clients.split(",")]
    return options, [r for r in ROWS if r.id in wanted]


def main():
    options, rows = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are ended
    wanted = 4000  # connections of 1,000 watchers, and what etcd and Consul keep open besides
    if allow_open_files(wanted) < wanted:
        raise SystemExit(f"needs {wanted} open files, which is more than the hard limit")
    stores = {"belay": lambda folder: belay(options.binary, folder, options.nodes)}
    stores |= peers.present(options, options.nodes)

    results, names = [], list(stores)
    for round_number in range(options.rounds):
        first = round_number % len(names)  # each round begins with another one
        for name in names[first:] + names[:first]:
            print(f"round {round_number + 1} of {options.rounds}: {name}", file=sys.stderr)
            with scratch(options.folder, "compare") as (folder, servers):
                servers += stores[name](folder)
                measure(options, name, servers, rows, results)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(results, out, indent=1)
    medians = table(rows, results)
    counts(rows, results)
    ratios(rows, medians)
    return 1 if any(r["wrong"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
