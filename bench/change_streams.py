#!/usr/bin/env python3
"""What change streams cost: the time until the last of very many clients receives a write, compared
with the minimum on this machine (wake_floor) and with etcd's watches; puts next to a thousand
streams; and a change compared with a whole listing, also Consul's. See README.md."""

import argparse
import contextlib
import glob
import http.client
import json
import os
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import generator
import peers
from connection import Connection
from secured import DENY_BY_DEFAULT
from servers import allow_open_files, cluster, leader_of, scratch

SPARE_FILES = 500  # of a server besides the connections: log, checkpoint, peers
TOKENS = 100


class Stream:
    """One stream of changes below a prefix."""

    def __init__(self, port, prefix):
        self.bytes, self.poll = 0, select.poll()
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.poll.register(self.socket, select.POLLIN)
        self.socket.sendall(b"GET /v1/kv/%s?recurse&changes HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n" % prefix.encode())
        self.wait_for(b"event: progress")

    def wait_for(self, text, limit=60):
        while self.poll.poll(limit * 1000):
            data = self.socket.recv(65536)
            if not data:
                raise SystemExit("the server closed a stream")
            self.bytes += len(data)
            if text in data:
                return
        raise SystemExit(f"a stream was not told within {limit} s")

    def close(self):
        self.socket.close()


class Listing:
    """A client that lists a prefix again after each change below it, by a blocking query."""

    def __init__(self, port, prefix):
        self.connection, self.target = http.client.HTTPConnection("127.0.0.1", port, timeout=90), f"/v1/kv/{prefix}?recurse"
        self.bytes, self.index = 0, None
        self.ask()
        self.take()

    def ask(self):
        self.connection.request("GET", self.target + (f"&wait=60s&index={self.index}" if self.index else ""))

    def take(self):
        answer = self.connection.getresponse()
        self.bytes += len(answer.read())
        if answer.status != 200:
            raise SystemExit(f"a listing: status {answer.status}")
        self.index = answer.headers["X-Consul-Index"]

    def close(self):
        self.connection.close()


# ---- a write that many follow


def paired(runs, of, to):
    """The median of the ratios within a round."""
    return statistics.median(a / b for a, b in zip(runs[of], runs[to]))


def floor(options):
    """The process of wake_floor in the role of a server of the load generator."""
    process = subprocess.Popen([options.wake_floor, str(options.port)])
    time.sleep(0.5)
    return process


def watch(options, port, pid, protocol, **how):
    """Milliseconds until the last watcher received a write, the median of one run; and microseconds
    of the server's processor for each write."""
    command = [options.load, "--proto", protocol, "--server", f"127.0.0.1:{port}", "--pid", str(pid), "--prefix", "watch"]
    for name, value in {"workload": "watch", "watchers": options.streams, "rounds": options.writes, **how}.items():
        command += ["--" + name, str(value)]
    said = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=300).stdout)
    if said["errors"] or said["incomplete"]:
        raise SystemExit(f"{how}: {said['errors']} errors, {said['incomplete']} writes not told to all: {said.get('first_error')}")
    return said["lat_us"]["p50"] / 1000, said["srv_us_wake"]


def fill_one(options, port, protocol, **how):
    command = [options.load, "--proto", protocol, "--server", f"127.0.0.1:{port}", "--workload", "fill", "--keys", "1", "--batch", "1", "--prefix", "watch"]
    for name, value in how.items():
        command += ["--" + name, str(value)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def equal_tokens(server, path):
    """A file with the SecretIDs of a hundred tokens that have the same policy."""
    status, _ = server.ask("PUT", "/v1/acl/policy", json.dumps({"Name": "load", "Rules": 'key_prefix "watch/" { policy = "write" }'}).encode())
    secrets = [json.loads(server.ask("PUT", "/v1/acl/token", b'{"Policies": [{"Name": "load"}]}')[1])["SecretID"] for _ in range(TOKENS)]
    if status != 200:
        raise SystemExit("no policy")
    with open(path, "w") as out:
        out.write("\n".join(secrets) + "\n")
    return path


def woken(options):
    limits = {"limits": {"http_max_conns_per_client": options.streams + SPARE_FILES}}
    with scratch(options.folder, "change_streams") as (folder, servers), contextlib.ExitStack() as ends:
        kinds = {}  # name -> (port, pid, protocol, options of the generator)
        for name, config in (("", limits), (f", {TOKENS} tokens", {**limits, **DENY_BY_DEFAULT})):
            (server,) = cluster(options.binary, os.path.join(folder, "acl" if name else "open"), 1, config)
            servers.append(server)
            tokens = {"tokens": equal_tokens(server, os.path.join(folder, "tokens"))} if name else {}
            fill_one(options, server.http_port, "consul", **tokens)
            for what, follow in (("streams", 1), ("blocking queries", 0)):
                kinds[f"Belay, {what}{name}"] = (server.http_port, server.process.pid, "consul", {"follow": follow, **tokens})
        if options.other:
            (server,) = cluster(options.other, os.path.join(folder, "other"), 1, limits)
            servers.append(server)
            fill_one(options, server.http_port, "consul")
            kinds["the other Belay, streams"] = (server.http_port, server.process.pid, "consul", {"follow": 1})
        if options.wake_floor:
            process = ends.enter_context(floor(options))
            ends.callback(process.kill)
            fill_one(options, options.port, "consul")
            for what, follow in (("streams", 1), ("blocking queries", 0)):
                kinds[f"wake_floor, {what}"] = (options.port, process.pid, "consul", {"follow": follow})
        if options.etcd:
            (server,) = peers.etcd(options.etcd, os.path.join(folder, "etcd"), 1)
            servers.append(server)
            fill_one(options, server.http_port, "etcd")
            for what, connections in (("a connection each", options.streams), ("8 connections", 8)):
                kinds[f"etcd, watches, {what}"] = (server.http_port, server.process.pid, "etcd", {"follow": 1, "conns": connections})
        runs, cpu = {name: [] for name in kinds}, {name: [] for name in kinds}
        for round_number in range(options.rounds):
            print(f"round {round_number + 1} of {options.rounds}", file=sys.stderr)
            for name, (port, pid, protocol, how) in kinds.items():
                time.sleep(1)  # until the connections of the previous run are closed
                took, used = watch(options, port, pid, protocol, **how)
                runs[name].append(took)
                cpu[name].append(used)
    print(f"\n{options.streams:,} who follow one prefix, a write: until the last of them knows; medians of {options.rounds} runs of {options.writes} writes\n")
    print("| | ms | least | most | server CPU us for each |" + (" of wake_floor's, paired |" if options.wake_floor else ""))
    print("|---|--:|--:|--:|--:|" + ("--:|" if options.wake_floor else ""))
    for name, values in runs.items():
        ratio = ""
        if options.wake_floor:
            ratio = f" {paired(runs, name, 'wake_floor, blocking queries' if 'queries' in name else 'wake_floor, streams'):.2f} |"
        print(f"| {name} | {statistics.median(values):.1f} | {min(values):.1f} | {max(values):.1f} | {statistics.median(cpu[name]):.2f} |{ratio}")


# ---- puts next to streams


def puts(options):
    """64 clients write: without followers, with streams of keys that are not written, and with a
    follower for each write."""
    streams, clients = min(options.streams, 1000), 64
    limits = {"limits": {"http_max_conns_per_client": streams + SPARE_FILES}}
    kinds = {"nobody follows": None, f"{streams:,} streams, other keys": "idle", f"{streams:,} streams, each put told to one": "bench"}
    with scratch(options.folder, "change_streams") as (folder, servers):
        servers += cluster(options.binary, folder, options.nodes, limits)
        generator.fill(options.load, servers, 10000)
        runs = {name: [] for name in kinds}
        for round_number in range(options.rounds):
            print(f"round {round_number + 1} of {options.rounds}", file=sys.stderr)
            for name, prefix in kinds.items():
                runs[name].append(put_beside(options, servers, clients, streams, prefix))
    fields = (("ops/s", "ops_s"), ("p50 us", "lat_us.p50"), ("p99 us", "lat_us.p99"), ("server CPU us/op", "srv_us_op"))
    print(f"\nPuts of {clients} clients, {options.nodes} servers; medians of {options.rounds} runs, and behind them the median of the ratios within a round\n")
    print("| | " + " | ".join(name for name, _ in fields) + " | told, each second |\n|---|" + "--:|" * (len(fields) + 1))
    none = runs["nobody follows"]
    for name, results in runs.items():
        cells = []
        for _, field in fields:
            ratio = statistics.median(generator.median([r], field) / generator.median([b], field) for r, b in zip(results, none))
            cells.append(f"{generator.figure(generator.median(results, field))} ({ratio:.2f})")
        print(f"| {name} | " + " | ".join(cells) + f" | {generator.figure(statistics.median(r['told'] for r in results))} |")
        if any(r["wrong"] for r in results):
            raise SystemExit("some puts were wrong")


def put_beside(options, servers, clients, streams, prefix):
    holder, told = None, 0
    if prefix:
        leader = leader_of(servers)
        command = [options.load, "--proto", "consul", "--server", f"127.0.0.1:{leader.http_port}", "--workload", "follow", "--watchers", str(streams)]
        command += ["--keys", "10000", "--prefix", prefix, "--seconds", str(options.seconds + 0.5), "--warmup", "1"]
        holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        time.sleep(1)
    result = generator.run(options.load, servers, "put", clients=clients, seconds=options.seconds, warmup=0.5)
    if holder:
        said = json.loads(holder.communicate(timeout=120)[0])
        if said["errors"]:
            raise SystemExit(f"a stream ended: {said.get('first_error')}")
        told = said["ops"] / (options.seconds + 0.5)
    return {**result, "told": told}


# ---- one follower


def busy_ms(server):
    """Processor time of its threads in milliseconds."""
    spent = 0
    for path in glob.glob(f"/proc/{server.process.pid}/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path) as stat:
            spent += int(stat.read().split()[0])
    return spent / 1e6


def per_change(server, keys, who):
    """(bytes, milliseconds of processor) for each change, with its write."""
    prefix, changes = f"list{keys}/", max(20, min(1000, 100_000 // keys)) if who is Listing else 1000
    follower = who(server.http_port, prefix) if who else None
    writer = Connection(server.http_port)
    used, before = busy_ms(server), follower.bytes if follower else 0
    for i in range(changes):
        if isinstance(follower, Listing):
            follower.ask()
            time.sleep(0.002)  # until it waits
        status, _ = writer.ask("PUT", f"/v1/kv/{prefix}k{i % keys:08d}", b"%0100d" % time.monotonic_ns())
        if status != 200:
            raise SystemExit(f"a write: status {status}")
        if isinstance(follower, Listing):
            follower.take()
        elif follower:
            follower.wait_for(b"event: set")
    spent = (busy_ms(server) - used) / changes
    size = (follower.bytes - before) / changes if follower else 0
    if follower:
        follower.close()
    writer.close()
    return size, spent


def changes(options):
    stores = {"Belay": lambda folder: cluster(options.binary, folder, 1, {})}
    if options.consul:
        stores["Consul"] = lambda folder: peers.consul(options.consul, folder, 1)
    rows = {}
    for store, start in stores.items():
        with scratch(options.folder, "change_streams") as (folder, servers):
            servers += start(os.path.join(folder, store))
            for keys in options.keys:
                generator.fill(options.load, servers, keys, vsize=100, prefix=f"list{keys}")
                whos = {"a stream": Stream, "`?recurse`, waiting": Listing} if store == "Belay" else {"`?recurse`, waiting": Listing}
                _, alone = per_change(servers[0], keys, None)
                for name, who in whos.items():
                    size, spent = per_change(servers[0], keys, who)
                    print(f"{store}, {keys:,} keys, {name}: {size:,.0f} bytes, {spent:.3f} ms with the write ({alone:.3f} ms)", file=sys.stderr)
                    rows.setdefault(f"{store}, {name}", []).append((size, max(0, spent - alone)))
    print("\nA change below a prefix of so many keys with values of 100 bytes, for one who follows it: bytes of bodies, and milliseconds of the server's processor")
    print("beyond those of the write\n")
    print("| | " + " | ".join(f"{keys:,} keys: bytes | CPU ms" for keys in options.keys) + " |\n|---|" + "--:|" * (2 * len(options.keys)))
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(f"{size:,.0f} | {spent:.3f}" for size, spent in cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    parser.add_argument("--other", help="another belay program, whose streams are measured beside")
    parser.add_argument("--wake-floor", help="the program wake_floor")
    parser.add_argument("--etcd", help="the etcd program")
    parser.add_argument("--consul", help="the consul program")
    parser.add_argument("--port", type=int, default=8600, help="of wake_floor")
    parser.add_argument("--parts", default="woken,puts,changes", help="which of the measurements (default: all)")
    parser.add_argument("--streams", type=int, default=10000)
    parser.add_argument("--writes", type=int, default=10, help="in each run of the first part")
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 3), help="servers of the second part (default 1)")
    parser.add_argument("--keys", type=lambda text: [int(n) for n in text.split(",")], default=[10, 1000, 100000], help="below the prefix that is listed")
    options = parser.parse_args()
    parts = {"woken": woken, "puts": puts, "changes": changes}
    chosen = options.parts.split(",")
    if unknown := set(chosen) - set(parts):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    wanted = options.streams + SPARE_FILES
    if allow_open_files(wanted) < wanted:
        parser.error(f"needs {wanted} open files, which is more than the hard limit")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are ended
    for part in chosen:
        parts[part](options)


if __name__ == "__main__":
    main()
