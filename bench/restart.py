#!/usr/bin/env python3
"""How long does one server need from its start to the first default read, and how much memory does
it then use per key?

usage: bench/restart.py --binary build/release/belay [--other old/belay] [--keys 10000,100000,1000000] [--rounds 5] [--folder /var/tmp]

For each number of keys, a server of each program is filled with values of 256 bytes, writes a
checkpoint (at the latest after its interval of 30 s), and is killed. Then each is started and
killed in turn, on its own data. With --only-log the server is kept from writing a checkpoint; it
still does after 32 MiB of commands, which are about 100,000 keys. Times on a shared machine mean
little. The processor time of the loading thread (from the system, at the response to the read) and
the ratio within each round mean more.
"""

import argparse
import base64
import http.client
import json
import os
import random
import signal
import socket
import statistics
import time

from servers import cluster, scratch

OPERATIONS = 64  # per transaction: the maximum
SETTLED = 20  # seconds from the read to the memory sample: memory freed during the start is returned after 16 s


def fill(server, count):
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=30)
    values = [base64.b64encode(random.randbytes(256)).decode() for _ in range(997)]
    for first in range(0, count, OPERATIONS):
        keys = range(first, min(count, first + OPERATIONS))
        body = json.dumps([{"KV": {"Verb": "set", "Key": f"bench/{i:07}", "Value": values[i % len(values)]}} for i in keys])
        connection.request("PUT", "/v1/txn", body)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"transaction: {answer.status} {text[:200]}")
    connection.close()


def answered(server):
    """Waits for a default read of a key, over a connection of its own."""
    request = b"GET /v1/kv/bench/0000000 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    try:
        with socket.create_connection(("127.0.0.1", server.http_port), 1) as connection:
            connection.settimeout(20)
            connection.sendall(request)
            return connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def first_thread_seconds(pid):
    with open(f"/proc/{pid}/task/{pid}/schedstat") as stat:
        return int(stat.read().split()[0]) / 1e9


def restarted(server):
    begun = time.monotonic()
    server.start()
    while not answered(server):
        if server.process.poll() is not None:
            raise SystemExit("the server has ended: " + " ".join(server.log_lines("")[-5:]))
        time.sleep(0.002)
    took = time.monotonic() - begun
    loading, processor = first_thread_seconds(server.process.pid), server.processor_seconds()
    time.sleep(SETTLED)
    own, mapped = server.memory()
    server.stop(signal.SIGKILL)
    return {"s": took, "loading": loading, "cpu": processor, "own": own / 1e6, "mapped": mapped / 1e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--other", help="another program, which takes turns with the first")
    parser.add_argument("--keys", default="10000,100000,1000000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default="/var/tmp")
    parser.add_argument("--only-log", action="store_true")
    o = parser.parse_args()
    programs = [p for p in (o.other, o.binary) if p]
    print("| keys | program | s, median (least) | loading thread, CPU s | all threads, CPU s | memory MB, filled | restarted | of mapped files | s, paired |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|--:|")
    for count in map(int, o.keys.split(",")):
        never = {"raft_snapshot_interval": "1h", "raft_snapshot_threshold": 1_000_000}
        with scratch(o.folder, "restart") as (folder, servers):
            runs, filled = {p: [] for p in programs}, {}
            for i, program in enumerate(programs):
                servers += cluster(program, os.path.join(folder, str(i)), 1, never if o.only_log else {})
                fill(servers[i], count)
                time.sleep(1 if o.only_log else 35)
                filled[program] = servers[i].memory()[0] / 1e6
                servers[i].stop(signal.SIGKILL)
            for round_number in range(o.rounds):
                for i in range(len(programs)) if round_number % 2 == 0 else reversed(range(len(programs))):
                    runs[programs[i]].append(restarted(servers[i]))
            for program in programs:
                middle = {name: statistics.median(r[name] for r in runs[program]) for name in runs[program][0]}
                paired = statistics.median(r["s"] / first["s"] for r, first in zip(runs[program], runs[programs[0]]))
                memory = f"{filled[program]:.0f} | {middle['own']:.0f} | {middle['mapped']:.0f}"
                least = min(r["s"] for r in runs[program])
                print(
                    f"| {count:,} | {os.path.abspath(program)} | {middle['s']:.2f} ({least:.2f}) | {middle['loading']:.2f} | {middle['cpu']:.2f} "
                    f"| {memory} | {paired:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
