#!/usr/bin/env python3
"""What many idle blocking queries cost one server: memory for each, reads next to them, and waking
one and all. See README.md."""

import argparse
import os
import tempfile
import time

from blocking_queries import Queries, fill, key, parked, wait_until_parked
from connection import Connection, percentile, request
from servers import allow_open_files, cluster, leader_of, scratch


def plain_reads(server, count):
    """Sorted milliseconds of reads of one key, in sequence on one connection."""
    connection, data, took = Connection(server.http_port), request("GET", "/v1/kv/other"), []
    for i in range(count + 200):
        begin = time.perf_counter()
        status, _ = connection.exchange(data)
        if i >= 200:
            took.append((time.perf_counter() - begin) * 1000)
        if status != 200:
            raise SystemExit(f"a plain read: status {status}")
    connection.close()
    return sorted(took)


def kernel_bytes():
    """(slab, socket buffers) of the whole machine: includes both ends of each connection."""
    with open("/proc/meminfo") as info:
        slab = next(int(line.split()[1]) * 1024 for line in info if line.startswith("Slab:"))
    with open("/proc/net/sockstat") as info:
        pages = next(int(line.split()[-1]) for line in info if line.startswith("TCP:"))
    return slab, pages * os.sysconf("SC_PAGE_SIZE")


def measure(options, server):
    n = options.queries
    indexes = fill(server, n)
    server.ask("PUT", "/v1/kv/other", b"x" * 256)
    # A new process: memory that the filling has used and freed would hide that of the queries.
    server.stop()
    server.start()
    leader_of([server])
    states = [("keys loaded", server.memory()[0], kernel_bytes())]
    before = plain_reads(server, options.reads)

    queries = Queries(server.http_port, n)
    queries.send("/v1/kv/" + key(i) for i in range(n))
    queries.answers(n)
    states.append(("connections open, one plain read on each", server.memory()[0], kernel_bytes()))

    queries.send(f"/v1/kv/{key(i)}?index={indexes[i]}&wait=10m" for i in range(n))
    wait_until_parked(server, n)
    states.append(("a blocking query parked on each", server.memory()[0], kernel_bytes()))
    used = server.processor_seconds()
    time.sleep(5)
    used = (server.processor_seconds() - used) / 5
    after = plain_reads(server, options.reads)
    if not queries.none_answered():
        raise SystemExit("a query was answered though nothing had changed")

    one = []
    writer = Connection(server.http_port)
    for i in range(0, n, max(2, n // 200)):
        data, begin = request("PUT", "/v1/kv/" + key(i), b"changed"), time.monotonic()
        writer.socket.sendall(data)
        ((woken, status, arrived),) = queries.answers(1)
        writer.exchange(b"")  # the response to the write itself
        if woken != i or status != 200:
            raise SystemExit(f"a write of key {i} woke {woken} with status {status}")
        one.append((arrived - begin) * 1000)
    left = n - len(one)
    if parked(server) != left:
        raise SystemExit("waking one woke others")

    begin = time.monotonic()
    writer.socket.sendall(request("DELETE", "/v1/kv/poll/?recurse"))
    woken = queries.answers(left)
    if {status for _, status, _ in woken} != {404}:
        raise SystemExit(f"a query on a key that was deleted was answered { {s for _, s, _ in woken} }")
    writer.exchange(b"")
    all_ms = sorted((arrived - begin) * 1000 for _, _, arrived in woken)
    if parked(server) != 0:
        raise SystemExit("queries stayed parked")

    print(f"{n} blocking queries on {n} keys, one connection each\n")
    print("| state | memory of the server (anonymous) | for each | kernel slab, machine | socket buffers, machine |")
    print("|---|---|---|---|---|")
    last = states[0]
    for name, own, (slab, buffers) in states:
        each = f"{(own - last[1]) / n:.0f} B more" if name != last[0] else ""
        print(f"| {name} | {own / 1e6:.1f} MB | {each} | {slab / 1e6:.0f} MB | {buffers / 1e6:.1f} MB |")
        last = (name, own, None)
    print(f"\nprocessor used by the server while they are parked and nothing else happens: {used * 100:.1f} % of one core\n")
    print("| | p50 | p99 | worst |")
    print("|---|---|---|---|")
    for name, values in (("plain read, without them", before), ("plain read, beside them", after), ("write until its one query is answered", sorted(one))):
        print(f"| {name} | {percentile(values, 0.5):.3f} ms | {percentile(values, 0.99):.3f} ms | {values[-1]:.3f} ms |")
    print(f"| recursive delete until the answer of each of {left} | {percentile(all_ms, 0.5):.0f} ms | {percentile(all_ms, 0.99):.0f} ms | {all_ms[-1]:.0f} ms |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="the belay program")
    parser.add_argument("--queries", type=int, default=10000, help="how many (default 10000)")
    parser.add_argument("--reads", type=int, default=5000, help="plain reads for each percentile")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the scratch data goes")
    options = parser.parse_args()
    if options.queries < 2:
        parser.error("at least 2 queries")
    wanted = options.queries + 200
    if allow_open_files(wanted) < wanted:
        parser.error(f"needs {wanted} open files, which is more than the hard limit")

    with scratch(options.folder, "long_polls") as (folder, servers):
        servers += cluster(options.binary, folder, 1, {"limits": {"http_max_conns_per_client": wanted}})
        measure(options, servers[0])


if __name__ == "__main__":
    main()
