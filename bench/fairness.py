#!/usr/bin/env python3
"""Can one flooding client raise the waiting times of another? p50 and p99 of a client that sends
one request at a time, alone and next to a client that sends as many as the server accepts,
without waiting for responses. The first one has short slices of processor time (Linux 6.12), so
that it does not wait for the flooding one when its response is there. See README.md."""

import argparse
import ctypes
import multiprocessing
import platform
import select
import signal
import socket
import statistics
import struct
import sys
import time

import generator
from connection import request
from servers import allow_open_files, cluster, leader_of, scratch

KEYS = 1000
FLOODS = {
    "puts": request("PUT", "/v1/kv/flood/small", b"v" * 100),
    "large puts": request("PUT", "/v1/kv/flood/large", b"v" * (256 << 10)),
    "gets": request("GET", "/v1/kv/flood/small"),
    "large gets": request("GET", "/v1/kv/flood/large"),
    "listings": request("GET", "/v1/kv/bench?recurse"),
}


def want_slices(ns):
    """Sets the slice of this process and its children. Zero: the default."""
    sched_setattr = {"x86_64": 314, "aarch64": 274}[platform.machine()]
    attributes = struct.pack("IIQiIQQQ", 48, 0, 0, 0, 0, ns, 0, 0)
    ctypes.CDLL(None).syscall(sched_setattr, 0, attributes, 0)


def flood(port, connections, one, stop, told):
    """Sends until it is stopped. Reports the number of responses in each second."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    want_slices(0)
    many = one * max(1, (256 << 10) // len(one))
    poll, sockets, offsets = select.epoll(), {}, {}
    for _ in range(connections):
        s = socket.create_connection(("127.0.0.1", port), 30)
        s.setblocking(False)
        sockets[s.fileno()], offsets[s.fileno()] = s, 0
        poll.register(s, select.EPOLLIN | select.EPOLLOUT)
    view, answers, began = memoryview(many), 0, time.monotonic()
    while not stop.is_set():
        for fd, events in poll.poll(0.1):
            if events & select.EPOLLIN:
                data = sockets[fd].recv(1 << 20)
                if not data:
                    raise SystemExit("the server closed a connection")
                answers += data.count(b"HTTP/1.1 ")
            if events & select.EPOLLOUT:
                offsets[fd] = (offsets[fd] + sockets[fd].send(view[offsets[fd] :])) % len(many)
    told.put(answers / (time.monotonic() - began))


def beside(options, servers, what):
    """One run of the client that sends one request at a time."""
    port = leader_of(servers).http_port
    stop, told = multiprocessing.Event(), multiprocessing.Queue()
    other = None
    if what:
        other = multiprocessing.Process(target=flood, args=(port, options.connections, FLOODS[what], stop, told), daemon=True)
        other.start()
        time.sleep(0.5)
    try:
        want_slices(100_000)
        result = generator.run(options.load, servers, options.asks, clients=1, keys=KEYS, seconds=options.seconds, warmup=0.3)
    finally:
        want_slices(0)
        stop.set()
    result["flood"] = told.get(timeout=60) if other else 0
    if result["wrong"]:
        raise SystemExit("some answers were wrong")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 3), help="servers (default 1)")
    parser.add_argument("--connections", type=int, default=1, help="of the client that floods (default 1)")
    parser.add_argument("--asks", default="put", choices=("put", "get"), help="what the other one does (default put)")
    options = parser.parse_args()
    allow_open_files(4096)
    runs = {what: [] for what in (None, *FLOODS)}
    with scratch(options.folder, "fairness") as (folder, servers):
        servers += cluster(options.binary, folder, options.nodes, {})
        generator.fill(options.load, servers, KEYS)
        for round_number in range(options.rounds):
            print(f"round {round_number + 1} of {options.rounds}", file=sys.stderr)
            for what in runs:
                runs[what].append(beside(options, servers, what))
    print(f"\n{options.asks}, one at a time, beside a client with {options.connections} connection(s); {options.nodes} server(s); medians of {options.rounds} runs, and the medians of the ratios within a round\n")
    print("| beside | ops/s | p50 us | p99 us | answers to the flood, each second |\n|---|--:|--:|--:|--:|")
    for what, results in runs.items():
        cells = []
        for field in ("ops_s", "lat_us.p50", "lat_us.p99"):
            ratio = statistics.median(generator.median([r], field) / generator.median([alone], field) for r, alone in zip(results, runs[None]))
            cells.append(f"{generator.figure(generator.median(results, field))} ({ratio:.2f})")
        print(f"| {what or 'nobody'} | " + " | ".join(cells) + f" | {generator.figure(statistics.median(r['flood'] for r in results))} |")


if __name__ == "__main__":
    main()
