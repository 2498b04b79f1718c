#!/usr/bin/env python3
"""Hostile traffic next to 16 writers, in half a core: its effect on them, compared with a busy loop
in half a core. See README.md."""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import threading

import compare
import generator
from servers import allow_open_files, cluster, leader_of, scratch

BUSY_LOOP = [sys.executable, "-c", "while True: pass"]


@contextlib.contextmanager
def half_a_core():
    """Makes a control group whose processes get half a processor, in slices of 20 ms. Returns the
    path of its list of processes. Needs root."""
    name = f"belay-hostile-{os.getpid()}"
    first, second = f"/sys/fs/cgroup/cpu/{name}", f"/sys/fs/cgroup/{name}"
    group = first if os.path.isdir("/sys/fs/cgroup/cpu") else second
    os.mkdir(group)
    try:
        if group == first:
            write(group, "cpu.cfs_period_us", "20000")
            write(group, "cpu.cfs_quota_us", "10000")
        else:
            write(group, "cpu.max", "10000 20000")
        yield os.path.join(group, "cgroup.procs")
    finally:
        os.rmdir(group)


def write(group, name, text):
    with open(os.path.join(group, name), "w") as file:
        file.write(text)


def started_in(processes, command):
    def enter():
        with open(processes, "w") as file:
            file.write(str(os.getpid()))

    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, preexec_fn=enter)


class Memory(threading.Thread):
    """The maximum private memory of each server, sampled five times a second."""

    def __init__(self, servers):
        super().__init__(daemon=True)
        self.servers, self.highest, self.over = servers, {}, threading.Event()

    def run(self):
        while not self.over.wait(0.2):
            for server in self.servers:
                self.highest[server.name] = max(self.highest.get(server.name, 0), server.memory()[0])

    def stop(self):
        self.over.set()
        self.join()
        return self.highest


def measured(options, servers, processes, command):
    """Runs the writers next to that command. Returns the generator's output, the maximum memory of
    a server in MB, and the command's output."""
    beside, memory = started_in(processes, command), Memory(servers)
    memory.start()
    try:
        result = generator.run(options.load, servers, "put", clients=16, seconds=options.seconds, warmup=1)
    finally:
        if command is BUSY_LOOP:
            beside.kill()
        said, _ = beside.communicate()
    return result, max(memory.stop().values()) / 1e6, said


def members(servers):
    """The members of the cluster, according to each server."""
    return [sorted(s["ID"] for s in json.loads(server.ask("GET", "/v1/operator/raft/configuration")[1])["Servers"]) for server in servers]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    parser.add_argument("--traffic", required=True, help="the hostile_traffic program")
    parser.add_argument("--kind", default="peer", choices=("peer", "http"), help="which port (default peer)")
    parser.add_argument("--config", help="JSON file of settings for the servers, such as credentials")
    parser.add_argument("--to", default="leader", choices=("leader", "follower"), help="which server (default leader)")
    parser.set_defaults(seconds=60, rounds=1)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    allow_open_files(8000)
    settings = {}
    if options.config:
        with open(options.config) as file:
            settings = json.load(file)

    ratios, wrong = [], 0
    with scratch(options.folder, "hostile") as (folder, servers), half_a_core() as processes:
        servers += cluster(options.binary, folder, 3, settings)
        compare.fill(options, servers)
        before = members(servers)
        print("| beside | puts/s | p50 ms | p99 ms | server memory MB | connections/s | messages/s | MB/s |\n|---|--:|--:|--:|--:|--:|--:|--:|")
        for _ in range(options.rounds):
            p99 = []
            for name in ("busy loop", "hostile"):
                leader = leader_of(servers)
                victim = leader if options.to == "leader" else next(s for s in servers if s is not leader)
                port = victim.server_port if options.kind == "peer" else victim.http_port
                hostile = [options.traffic, options.kind, str(port), str(options.seconds + 1)]
                result, memory, said = measured(options, servers, processes, BUSY_LOOP if name == "busy loop" else hostile)
                rates = json.loads(said) if name == "hostile" else {"connections_s": "-", "messages_s": "-", "mb_s": "-"}
                latency = result["lat_us"]
                p99.append(latency["p99"])
                wrong += result["wrong"]
                shown = [f"{result['ops_s']:,.0f}", f"{latency['p50'] / 1000:.2f}", f"{latency['p99'] / 1000:.2f}", f"{memory:.0f}", *map(str, rates.values())]
                print(f"| {name} | " + " | ".join(shown) + " |", flush=True)
            ratios.append(p99[1] / p99[0])
        after = members(servers)
        forged = [server.ask("GET", "/v1/kv/forged?stale")[0] for server in servers]
    print(f"\np99 beside it by p99 beside a busy loop: {statistics.median(ratios):.2f}")
    print("members: " + ("the same" if before == after else f"{before}, then {after}") + f"; forged key: {forged}; wrong answers: {wrong}")
    return 0 if before == after and forged == [404] * 3 and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
