#!/usr/bin/env python3
"""The cost of one lock, one semaphore slot and one election: requests, commits and bytes, counted,
with each store's own client. See README.md."""

import argparse
import contextlib
import functools
import importlib.metadata
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile

import peers
from servers import cluster, leader_of, scratch
from wire_proxy import IDLE_LIMIT, RENEWAL, Grpc, Http1, Proxy, Zookeeper

LIMIT = 3  # permits of the semaphores
BEGINNINGS = {"PUT /v1/session/create", "connect"}  # a waiting client has done that before


class GaveUp(Exception):
    """A client ended that should hold or wait."""


class Program:
    """A client that is a program. It runs a child while it holds, which reports that and waits for
    a word on a named pipe."""

    numbers = itertools.count()
    connections = 1  # until its request

    def __init__(self, folder, command):
        self.out = os.path.join(folder, f"client{next(self.numbers)}")
        os.mkfifo(self.out + ".pipe")
        child = ["sh", "-c", 'echo held; read word <"$0"', self.out + ".pipe"]
        self.process = self.launch([*command, *child])

    def launch(self, command):
        with open(self.out, "wb") as out, open(self.out + ".errors", "ab") as errors:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)

    def said(self):
        with open(self.out, "rb") as out:
            return out.read()

    def holds(self):
        if self.process.poll() is not None:
            with open(self.out + ".errors") as errors:
                raise GaveUp(f"a client has ended: {' '.join(self.process.args)}\n{errors.read()}")
        return self.said() != b""

    def give_back(self):
        """Releases what it holds, ends its session if the client does that, and returns when it has
        ended."""
        with open(self.out + ".pipe", "w"):
            pass
        self.process.wait(IDLE_LIMIT)

    def abandon(self):
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):  # the child, if there is one
            os.close(os.open(self.out + ".pipe", os.O_WRONLY | os.O_NONBLOCK))


class EtcdElect(Program):
    """`etcdctl elect` has no child; it leads until it is interrupted."""

    def __init__(self, folder, command):
        self.out = os.path.join(folder, f"client{next(self.numbers)}")
        self.process = self.launch(command)

    def give_back(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(IDLE_LIMIT)


class Claim(Program):
    """A claim of Belay, requested with curl, as in docs/guides/claims.md."""

    connections = 2  # the session's, the claim's

    def __init__(self, folder, api, what, transfer):
        self.out = os.path.join(folder, f"client{next(self.numbers)}")
        self.api, self.what, self.transfer = api, what, transfer
        settings = {"Name": "alice", "TTL": "30s", "LockDelay": "0s", "NodeChecks": []}
        self.session = json.loads(self.curl("PUT", "session/create", json.dumps(settings)))["ID"]
        kind = {"lock": "", "semaphore": f"&kind=semaphore&limit={LIMIT}", "election": "&kind=election"}[what]
        value = ["-d", "http://10.0.0.1"] if what == "election" else []
        self.process = self.launch(["curl", "-s", "-X", "PUT", *value, f"{api}/claim/bench/{what}?session={self.session}&wait=60s{kind}"])

    def curl(self, method, target, body=None):
        data = ["-d", body] if body else []
        return subprocess.run(["curl", "-s", "-f", "-X", method, *data, f"{self.api}/{target}"], check=True, capture_output=True).stdout

    def holds(self):
        return b'"State":"held"' in self.said().replace(b" ", b"")

    def give_back(self):
        name = f"claim/bench/{self.what}"
        self.curl("PUT", f"{name}/transfer?id={self.session}") if self.transfer else self.curl("DELETE", f"{name}?id={self.session}")
        self.curl("PUT", f"session/destroy/{self.session}")

    def abandon(self):
        self.process.kill()
        self.process.wait()


KAZOO = """
import subprocess, sys
from kazoo.client import KazooClient
port, what, limit, *child = sys.argv[1:]
client, path = KazooClient(hosts="127.0.0.1:" + port, timeout=30), "/bench/" + what
client.start()
if what == "election":
    client.Election(path, "http://10.0.0.1").run(subprocess.run, child)
else:
    with client.Lock(path) if what == "lock" else client.Semaphore(path, max_leases=int(limit)):
        subprocess.run(child)
client.stop()
"""


# What they contend for, the number of waiters, and a name. Without waiters: one client by itself.
CASES = [
    ("lock", 0, "lock, alone"),
    ("semaphore", 0, f"semaphore of {LIMIT}, one slot, alone"),
    ("election", 0, "election, alone"),
    ("lock", 1, "lock, handed to the 1 who waits"),
    ("lock", 15, "lock, handed to one of 15 who wait"),
    ("semaphore", 1, f"semaphore of {LIMIT}, all taken, a slot handed to the 1 who waits"),
    ("election", 1, "election, handed to the 1 who waits"),
]


def stores(options):
    """The systems to measure: name, starts its servers, protocol, whether it has a recipe, starts a
    client."""

    def consul_lock(folder, port, what, _):
        number = [f"-n={LIMIT}"] if what == "semaphore" else []
        return Program(folder, [options.consul, "lock", f"-http-addr=127.0.0.1:{port}", "-shell=false", *number, f"bench/{what}"])

    def etcdctl(folder, port, what, _):
        # Pings of the connection, and renewals, come later than the end of any of this.
        command = [options.etcdctl, f"--endpoints=127.0.0.1:{port}", "--keepalive-time=60s"]
        if what == "election":
            return EtcdElect(folder, [*command, "elect", "bench/election", "http://10.0.0.1"])
        return Program(folder, [*command, "lock", "--ttl=60", "--", "bench/lock"])

    def claim(folder, port, what, waiters):
        return Claim(folder, f"http://127.0.0.1:{port}/v1", what, what == "election" and waiters > 0)

    def kazoo(folder, port, what, _):
        return Program(folder, [sys.executable, "-c", KAZOO, str(port), what, str(LIMIT)])

    def belay(folder):
        return cluster(options.binary, folder, options.nodes, {})

    every, no_election, no_semaphore = ("lock", "semaphore", "election"), ("lock", "semaphore"), ("lock", "election")
    return [
        ("**Belay**, claims", belay, Http1, every, claim),
        ("Belay, `consul lock`", belay, Http1, no_election, consul_lock),
        ("Consul, `consul lock`", lambda folder: peers.consul(options.consul, folder, options.nodes), Http1, no_election, consul_lock),
        ("etcd, `etcdctl`", lambda folder: peers.etcd(options.etcd, folder, options.nodes), Grpc, no_semaphore, etcdctl),
        ("ZooKeeper, kazoo", lambda folder: peers.zookeeper(options.zookeeper, folder, options.nodes), Zookeeper, every, kazoo),
    ]


def until(condition, what, limit=IDLE_LIMIT):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("never: " + what)
        time.sleep(0.01)


def settled(server):
    """Commits, once the server writes nothing more by itself."""
    before, since = server.committed(), time.monotonic()
    while time.monotonic() < since + 1.5:
        time.sleep(0.1)
        if (now := server.committed()) != before:
            before, since = now, time.monotonic()


def once(server, proxy, begin, what, waiters, left):
    """The cost of the case, once. `begin` starts a client; clients that continue are appended to
    `left`."""
    if waiters:
        holders = LIMIT if what == "semaphore" else 1
        for number in range(holders + waiters):
            there = proxy.connections
            left.append(begin())
            until(lambda: proxy.connections >= there + left[number].connections, "it is connected")
            if number < holders:
                until(left[number].holds, "the first have it")
        proxy.quiet()
    sent, received, events, commits = proxy.sent, proxy.received, len(proxy.events), server.committed()
    if waiters:
        left.pop(0).give_back()
        others = left[holders - 1 :]
        until(lambda: any(client.holds() for client in others), "another one has it")
    else:
        client = begin()
        until(client.holds, "it has it")
        time.sleep(0.2)
        client.give_back()
    proxy.quiet()
    if waiters and sum(client.holds() for client in others) != 1:
        raise SystemExit("more than one of those who waited has it")
    after = {"sent": proxy.sent - sent, "received": proxy.received - received, "commits": server.committed() - commits}
    return {**after, "events": proxy.events[events:]}


def measure(options, store, what, waiters):
    """Costs of one case over that many rounds, each with servers of its own. Repeats a round that
    contains a renewal, or a client that was late or gave up."""
    name, start, protocol, _, client = store
    costs = []
    for _ in range(3 * options.rounds):
        with scratch(options.folder, "lock_costs") as (folder, servers):
            servers += start(folder)
            leader = leader_of(servers)
            settled(leader)
            proxy, left = Proxy(leader.http_port, protocol), []
            begin = functools.partial(client, folder, proxy.port, what, waiters)
            try:
                if not waiters:  # only the first client creates e.g. ZooKeeper's paths; with waiters they exist already
                    once(leader, proxy, begin, what, 0, left)
                cost = once(leader, proxy, begin, what, waiters, left)
            except GaveUp as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            finally:
                for one in left:
                    one.abandon()
                proxy.stop()
        if options.show:
            print(f"{name}: {what}, {waiters} wait: {json.dumps(cost)}", file=sys.stderr)
        if RENEWAL in cost["events"] or (waiters and BEGINNINGS.intersection(cost["events"])):
            continue
        costs.append(cost)
        if len(costs) == options.rounds:
            return costs
    raise SystemExit(f"{name}: too few rounds without renewals and with all clients")


def median_and_range(values):
    low, middle, high = min(values), sorted(values)[len(values) // 2], max(values)
    return f"{middle:,}" if low == high else f"{middle:,} ({low:,} to {high:,})"


def requests(costs):
    """For etcd also the number of calls: a stream is one, with all its messages."""
    calls = [cost["events"].count("call") for cost in costs]
    text = median_and_range([len(cost["events"]) - opened for cost, opened in zip(costs, calls)])
    return text + f", {median_and_range(calls)} calls" if any(calls) else text


def row(case, store, costs):
    sent, received = (f"{sorted(cost[way] for cost in costs)[len(costs) // 2]:,}" for way in ("sent", "received"))
    commits = median_and_range([cost["commits"] for cost in costs])
    print(f"| {case} | {store} | {requests(costs)} | {commits} | {sent} | {received} |", flush=True)


def versions(options):
    """The first line of each program's version output; libraries by their numbers."""
    commands = [[options.binary, "version"], ["curl", "--version"], [options.consul, "version"], [options.etcd, "--version"], [options.etcdctl, "version"]]
    said = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0].split(" (")[0] for command in commands]
    with zipfile.ZipFile(options.zookeeper) as jar:
        properties = jar.read("META-INF/maven/org.apache.zookeeper/zookeeper/pom.properties").decode()
    zookeeper = re.search(r"^version=(.*)$", properties, re.MULTILINE)[1]
    return "; ".join([*said, f"ZooKeeper {zookeeper}", f"kazoo {importlib.metadata.version('kazoo')}"])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="the belay program")
    parser.add_argument("--consul", default="consul", help="the consul program, server and client (default: on PATH)")
    parser.add_argument("--etcd", default="etcd", help="the etcd program (default: on PATH)")
    parser.add_argument("--etcdctl", default="etcdctl", help="its client (default: on PATH)")
    parser.add_argument("--zookeeper", default="/usr/share/java/zookeeper.jar", help="its zookeeper.jar (default: Debian's); needs java on PATH")
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 3), help="servers of each (default 1)")
    parser.add_argument("--rounds", type=int, default=3, help="each with servers of its own (default 3)")
    parser.add_argument("--only", default="", help="only stores whose name contains this")
    parser.add_argument("--folder", help="where to put the data (default: the system's temporary folder)")
    parser.add_argument("--show", action="store_true", help="what was counted in each round, on standard error")
    return parser.parse_args()


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are ended
    print(f"{time.strftime('%d %B %Y')}, {options.nodes} of each. {versions(options)}\n")
    print("| what | of whom | requests | commits | sent bytes | received bytes |")
    print("|---|---|--:|--:|--:|--:|")
    for what, waiters, case in CASES:
        for store in stores(options):
            if what in store[3] and options.only in store[0]:
                row(case, store[0], measure(options, store, what, waiters))


if __name__ == "__main__":
    main()
