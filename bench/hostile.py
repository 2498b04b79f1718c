#!/usr/bin/env python3
"""Hostile traffic next to 16 writers and one reader, in half a core: its effect on them, compared
with a busy loop in half a core. See README.md."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import threading

import compare
import generator
import secured
from control_group import processor_share
from servers import allow_open_files, cluster, leader_of, scratch

BUSY_LOOP = [sys.executable, "-c", "while True: pass"]

# Reads one key 200 times per second until its input ends, and prints the time of each read in ms.
# A process of its own, because threads of this process would wait for each other.
READER = """
import socket, sys, threading, time
port, token = int(sys.argv[1]), sys.argv[2]
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
server = socket.create_connection(("127.0.0.1", port))
server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
request = ("GET /v1/kv/watch/0 HTTP/1.1\\r\\nHost: localhost\\r\\n" + (f"X-Consul-Token: {token}\\r\\n" if token else "") + "\\r\\n").encode()
while not over.wait(0.005):
    began = time.perf_counter()
    server.sendall(request)
    answer = server.recv(65536)
    assert answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 404")), answer[:200]
    print((time.perf_counter() - began) * 1000)
"""

# Permissions of a hostile client that has a token.
TENANT = "\n".join(f'{kind}_prefix "{name}" {{ policy = "write" }}' for kind, name in (("key", "bench/"), ("session", ""), ("service", ""), ("node", "")))


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


def measured(options, servers, processes, command, victim, how):
    """Runs the writers and the reader next to that command. Returns the generator's output, the
    reader's sorted times in ms, the maximum memory of a server in MB, and the command's output."""
    beside, memory = started_in(processes, command), Memory(servers)
    reader = subprocess.Popen([sys.executable, "-c", READER, str(victim.http_port), victim.token or ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    memory.start()
    try:
        result = generator.run(options.load, servers, "put", clients=16, seconds=options.seconds, warmup=1, **how)
    finally:
        if command is BUSY_LOOP:
            beside.kill()
        said, _ = beside.communicate()
        times, _ = reader.communicate()
    if reader.returncode != 0:
        raise SystemExit("the reader failed")
    return result, sorted(map(float, times.split())), max(memory.stop().values()) / 1e6, said


def tokens_for(servers, folder):
    """Returns the generator's file with the token of the writers, and the token of a hostile client."""
    leader = leader_of(servers)

    def create(name, rules):
        for what, body in (("policy", {"Name": name, "Rules": rules}), ("token", {"Policies": [{"Name": name}]})):
            status, answer = leader.ask("PUT", f"/v1/acl/{what}", json.dumps(body).encode())
            if status != 200:
                raise SystemExit(f"no {what}: {status} {answer.decode(errors='replace')}")
        return json.loads(answer)["SecretID"]

    path = os.path.join(folder, "tokens")
    with open(path, "w") as out:
        out.write(create("load", secured.ALLOWS_LOAD) + "\n")
    return path, create("tenant", TENANT)


def members(servers):
    """The members of the cluster, according to each server."""
    return [sorted(s["ID"] for s in json.loads(server.ask("GET", "/v1/operator/raft/configuration")[1])["Servers"]) for server in servers]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    generator.add_arguments(parser)
    parser.add_argument("--traffic", required=True, help="the hostile_traffic program")
    parser.add_argument("--kind", default="peer", choices=("peer", "http"), help="which port (default peer)")
    parser.add_argument("--config", help="JSON file of settings for the servers, such as credentials")
    parser.add_argument("--acl", choices=("without", "with"), help="servers with ACLs, default deny; the hostile client is without or with a token")
    parser.add_argument("--to", default="leader", choices=("leader", "follower"), help="which server (default leader)")
    parser.set_defaults(seconds=60, rounds=1)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    allow_open_files(8000)
    settings = {}
    if options.config:
        with open(options.config) as file:
            settings = json.load(file)

    if options.acl:
        settings = {**secured.DENY_BY_DEFAULT, **settings}

    ratios, worst, wrong = [], {"busy loop": [], "hostile": []}, 0
    with scratch(options.folder, "hostile") as (folder, servers), processor_share(0.5) as processes:
        servers += cluster(options.binary, folder, 3, settings)
        how, token = {}, []
        if options.acl:
            path, secret = tokens_for(servers, folder)
            how, token = {"tokens": path}, [secret] if options.acl == "with" else []
        compare.fill(options, servers, how)
        before = members(servers)
        print("| beside | puts/s | p50 ms | p99 ms | get p99.9 ms | longest get ms | server memory MB | connections/s | messages/s | MB/s |")
        print("|---" + "|--:" * 9 + "|")
        for _ in range(options.rounds):
            p99 = []
            for name in ("busy loop", "hostile"):
                leader = leader_of(servers)
                victim = leader if options.to == "leader" else next(s for s in servers if s is not leader)
                port = victim.server_port if options.kind == "peer" else victim.http_port
                hostile = [options.traffic, options.kind, str(port), str(options.seconds + 1), "127.0.0.9", *token]
                command = BUSY_LOOP if name == "busy loop" else hostile
                result, times, memory, said = measured(options, servers, processes, command, victim, how)
                worst[name].append((times[int(len(times) * 0.999)], times[-1]))
                rates = json.loads(said) if name == "hostile" else {"connections_s": "-", "messages_s": "-", "mb_s": "-"}
                latency = result["lat_us"]
                p99.append(latency["p99"])
                wrong += result["wrong"]
                shown = [f"{result['ops_s']:,.0f}", f"{latency['p50'] / 1000:.2f}", f"{latency['p99'] / 1000:.2f}", *(f"{t:.1f}" for t in worst[name][-1]), f"{memory:.0f}", *map(str, rates.values())]
                print(f"| {name} | " + " | ".join(shown) + " |", flush=True)
            ratios.append(p99[1] / p99[0])
        after = members(servers)
        forged = [server.ask("GET", "/v1/kv/forged?stale")[0] for server in servers]
    print(f"\np99 beside it by p99 beside a busy loop: {statistics.median(ratios):.2f}")
    for place, what in enumerate(("p99.9", "longest")):
        own, busy = (statistics.median(each[place] for each in worst[name]) for name in ("hostile", "busy loop"))
        print(f"{what} of a get: {own:.1f} ms beside it, {busy:.1f} ms beside a busy loop; limit {max(50, 2 * busy):.1f} ms")
    print("members: " + ("the same" if before == after else f"{before}, then {after}") + f"; forged key: {forged}; wrong answers: {wrong}")
    return 0 if before == after and forged == [404] * 3 and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
