#!/usr/bin/env python3
"""What a thousand client agents cost three servers, and whether the catalog is right about them. An
agent that is killed must become critical within 4 to 8 s, and no other may: not when the leader
is killed, and not when servers hear nothing from the agents for two seconds.

usage: bench/client_agents.py --binary build/release/belay --crowd build/release/agent_crowd [--agents 1000] [--folder /var/tmp]

Exits with status 1 if an agent becomes critical that should not, or too early or too late.
Meanwhile one server gets five queries for critical checks per second, which are a part of its
processor time.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time

from servers import allow_open_files, cluster, leader_of, scratch


class Crowd:
    def __init__(self, program, servers, count):
        self.process = subprocess.Popen([program, *(f"127.0.0.1:{s.server_port}" for s in servers), "--agents", str(count)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def order(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def wait(self):
        line = self.process.stdout.readline().strip()
        if line != "ready":
            raise SystemExit(f"the agents ended: {line}")

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rows(server, path):
    status, body = server.ask("GET", path, limit=10)
    if status != 200:
        raise OSError(f"{status} {body[:200]}")
    return json.loads(body)


def critical(server):
    return {c["Node"] for c in rows(server, "/v1/health/state/critical?stale") if c["CheckID"] == "serfHealth" and c["Node"].startswith("agent-")}


def liveness(server):
    """Node: (status, index) of each agent. A change that was undone meanwhile has another index."""
    return {c["Node"]: (c["Status"], c["ModifyIndex"]) for c in rows(server, "/v1/health/state/any") if c["CheckID"] == "serfHealth" and c["Node"].startswith("agent-")}


def watched(server, seconds):
    """All that were critical at some time."""
    seen, end = set(), time.monotonic() + seconds
    while time.monotonic() < end:
        seen |= critical(server)
        time.sleep(0.2)
    return seen


def costs(servers, crowd, leader, seconds):
    before, begun = {s.name: s.processor_seconds() for s in servers}, time.monotonic()
    agents = crowd.processor_seconds()
    index = leader.raft()["last_log_index"]
    time.sleep(seconds)
    took = time.monotonic() - begun
    print(f"{seconds} s of nothing else, processor time a second:", flush=True)
    for s in servers:
        print(f"  {s.name} {'leader  ' if s is leader else 'follower'} {(s.processor_seconds() - before[s.name]) / took * 100:5.1f} %   {s.memory()[0] / 1e6:.0f} MB")
    print(f"  the agents   {(crowd.processor_seconds() - agents) / took * 100:5.1f} %")
    print(f"  entries of the log: {leader.raft()['last_log_index'] - index}", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", required=True)
    options.add_argument("--crowd", required=True)
    options.add_argument("--agents", type=int, default=1000)
    options.add_argument("--folder", default="/var/tmp")
    options.add_argument("--seconds", type=int, default=30)
    o = options.parse_args()
    allow_open_files(4 * o.agents + 1000)
    wrong = []
    with scratch(o.folder, "client_agents") as (folder, servers):
        limits = {"limits": {"http_max_conns_per_client": 4 * o.agents + 1000, "rpc_max_conns_per_client": 4 * o.agents + 1000}}
        servers += cluster(o.binary, folder, 3, limits)
        crowd = Crowd(o.crowd, servers, o.agents)
        try:
            begun = time.monotonic()
            crowd.wait()
            leader = leader_of(servers)
            while len([1 for status, _ in liveness(leader).values() if status == "passing"]) < o.agents:
                time.sleep(0.2)
                if time.monotonic() - begun > 60:
                    raise SystemExit("not all agents are passing after a minute")
            print(f"{o.agents} agents are in the catalog and passing after {time.monotonic() - begun:.1f} s")
            time.sleep(3)
            costs(servers, crowd, leader, o.seconds)

            crowd.order(f"drop {o.agents - 1}")
            killed, name = time.monotonic(), f"agent-{o.agents - 1}"
            while name not in critical(leader) and time.monotonic() - killed < 20:
                time.sleep(0.05)
            took = time.monotonic() - killed
            print(f"one is killed: critical after {took:.1f} s", flush=True)
            if not 4 <= took <= 8:
                wrong.append("the one that was killed is critical too early or too late")
            before = liveness(leader)

            crowd.process.send_signal(signal.SIGSTOP)
            time.sleep(2)
            crowd.process.send_signal(signal.SIGCONT)
            seen = watched(leader, 10) - {name}
            print(f"nothing is heard for 2 s: {len(seen)} false criticals")
            if seen or liveness(leader) != before:
                wrong.append("a cut of 2 s made agents critical")

            leader.stop(signal.SIGKILL)
            rest = [s for s in servers if s is not leader]
            seen = watched(rest[0], 20) - {name}
            now = leader_of(rest)
            after = liveness(now)
            changed = [n for n in before if after.get(n) != before[n]]
            print(f"the leader is killed: {len(seen)} false criticals, {len(changed)} checks changed")
            if seen or changed:
                wrong.append("the end of a leader made agents critical")
        finally:
            crowd.process.kill()
            crowd.process.wait()
    for each in wrong:
        print("WRONG: " + each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
