#!/usr/bin/env python3
"""How the cost of an operation grows with servers, sizes of values, parked blocking queries, and
keys. See README.md."""

import argparse
import collections
import contextlib
import os
import signal
import sys

import blocking_queries
import generator
import plots
from generator import figure, median
from servers import allow_open_files, cluster, leader_of, scratch

CLIENTS = 64
KEYS = 10_000  # unless their number is the variable

# setting: {"nodes", "vsize", "parked", "keys"} for a point, if different from one server, 256
# bytes, none, KEYS.
Question = collections.namedtuple("Question", "title x_label points setting read")
QUESTIONS = {
    "nodes": Question("Servers of the cluster", "servers", (1, 3, 5), lambda n: {"nodes": n}, "strong"),
    "values": Question(
        "Size of the values, 3 servers",
        "bytes of a value",
        (16, 256, 4096, 65536),
        # Fewer large ones: 64 MB on each server and in the log suffice.
        lambda n: {"nodes": 3, "vsize": n, "keys": min(KEYS, (64 << 20) // n)},
        "default",
    ),
    "parked": Question(
        "Parked blocking queries, 1 server", "parked queries, each with a key and a connection", (1000, 10_000, 50_000), lambda n: {"parked": n}, "default"
    ),
    "keys": Question("Keys in the store, 1 server", "keys", (10_000, 100_000, 1_000_000), lambda n: {"keys": n}, "default"),
}


def park(server, count):
    indexes = blocking_queries.fill(server, count)
    queries = blocking_queries.Queries(server.http_port, count)
    queries.send(f"/v1/kv/{blocking_queries.key(i)}?index={indexes[i]}&wait=10m" for i in range(count))
    blocking_queries.wait_until_parked(server, count)
    return queries


def measure(options, question, point):
    """{"put": the generator's output, "get": the same} with servers of their own."""
    setting = {"nodes": 1, "vsize": 256, "parked": 0, "keys": KEYS, **question.setting(point)}
    with scratch(options.folder, "growth") as (folder, servers), contextlib.ExitStack() as opened:
        # To the server, the connections of the generator and of 20,000 queries are one client.
        servers += cluster(options.binary, folder, setting["nodes"], {"limits": {"http_max_conns_per_client": 20_500}})
        data = {"keys": setting["keys"], "vsize": setting["vsize"]}
        generator.fill(options.load, servers, **data)
        if setting["parked"]:
            queries = opened.enter_context(contextlib.closing(park(leader_of(servers), setting["parked"])))
        load = {"clients": CLIENTS, "seconds": options.seconds, "warmup": min(0.7, options.seconds / 2), **data}
        put = generator.run(options.load, servers, "put", **load)
        get = generator.run(options.load, servers, "get", read=question.read, **load)
        if setting["parked"] and not queries.none_answered():
            raise SystemExit("a query was answered though its key had not changed")
        return {"put": put, "get": get}


def table(name, question, points, results):
    print(f"\n### {question.title}\n")
    print(f"{CLIENTS} clients; {'linearizable' if question.read == 'strong' else 'default'} get; medians\n")
    head = [question.x_label]
    for what in ("put", "get"):
        head += [f"{what}: ops/s"] + ([f"{what}: MB/s"] if name == "values" else []) + [f"{what}: p99 ms", f"{what}: server CPU us/op"]
    head.append("memory of the servers, MB (RSS)")
    print("| " + " | ".join(head) + " |\n" + "|--:" * len(head) + "|")
    for point in points:
        cells = [f"{point:,}"]
        for what in ("put", "get"):
            runs = [r[what] for r in results[point]]
            speed = median(runs, "ops_s")
            cells += [figure(speed)] + ([figure(speed * point / 1e6)] if name == "values" else [])
            cells += [figure(median(runs, "lat_us.p99") / 1000), figure(median(runs, "srv_us_op"))]
        cells.append(figure(median([r["get"] for r in results[point]], "rss_mb")))
        print("| " + " | ".join(cells) + " |")


def plot(question, points, results):
    def line(what, field):
        return [median([r[what] for r in results[point]], field) for point in points]

    read = "get, linearizable" if question.read == "strong" else "get"
    panels = [
        (label, {"put": line("put", field), read: line("get", field)})
        for label, field in (("server CPU per operation, us (all servers)", "srv_us_op"), ("operations per second", "ops_s"))
    ]
    return plots.svg(f"{question.title}: {CLIENTS} clients", question.x_label, [(p, f"{p:,}") for p in points], panels)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    parser.add_argument("--only", default=",".join(QUESTIONS), help="which questions (default: all: %(default)s)")
    parser.add_argument("--points", help="with one question: other points than its own, e.g. 1,3")
    parser.add_argument("--plots", help="a folder for one SVG for each question")
    options = parser.parse_args()
    chosen = options.only.split(",")
    unknown = set(chosen) - set(QUESTIONS)
    if unknown:
        parser.error(f"no such question: {', '.join(sorted(unknown))}")
    if options.points and len(chosen) != 1:
        parser.error("--points is for one question")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are ended

    wrong = 0
    for name in chosen:
        question = QUESTIONS[name]
        points = [int(p) for p in options.points.split(",")] if options.points else list(question.points)
        if name == "parked":
            possible = allow_open_files(max(points) + 500) - 500
            for point in [p for p in points if p > possible]:
                print(f"{point:,} parked queries: left out, the hard limit of open files is too low", file=sys.stderr)
                points.remove(point)
        results = collections.defaultdict(list)
        for round_number in range(options.rounds):
            for point in points:
                print(f"round {round_number + 1} of {options.rounds}: {name} {point:,}", file=sys.stderr)
                results[point].append(measure(options, question, point))
        if not points:
            continue
        table(name, question, points, results)
        sys.stdout.flush()
        wrong += sum(r[what]["wrong"] for runs in results.values() for r in runs for what in ("put", "get"))
        if options.plots:
            os.makedirs(options.plots, exist_ok=True)
            with open(os.path.join(options.plots, f"growth-{name}.svg"), "w") as out:
                out.write(plot(question, points, results))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
