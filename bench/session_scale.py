#!/usr/bin/env python3
"""Hundreds of thousands of sessions and claims on a cluster of this machine (session_scale.cpp
describes the measurement).

usage: bench/session_scale.py --binary build/release/belay [--program build/release/session_scale] [--nodes 3]
                              [--folder /var/tmp] exact|exact-kill|holders [-- WORDS FOR session_scale]

exact       100,000 sessions with exact TTLs, a sample of which is watched to its end
exact-kill  the same; the leader is killed when half of them have ended (a follower gets the requests)
holders     a node is deregistered whose 10,000 sessions hold a claim each, while 100,000 others wait for these

Exits with status 1 if a session ended early, or a claim was not granted to the head of its queue.
"""
import argparse
import json
import signal
import subprocess
import sys
import threading
import time

from servers import allow_open_files, cluster, leader_of, scratch

TTL, OVER = 60, 20


def words_of(what, servers):
    pids = [w for s in servers for w in ("--pid", str(s.process.pid))]
    if what == "holders":
        return ["--sessions", "1000", "--ttl", "10", "--seconds", "1", "--locked", "10000", "--waiting", "100000", *pids]
    return ["--sessions", "100000", "--ttl", str(TTL), "--exact", str(OVER), "--sample", "2000", *pids]


def kill_half_way(leader, program):
    """The sessions end as evenly as they are renewed, a TTL later: half of them have ended then."""
    sessions = 0
    while sessions < 100000 and program.poll() is None:
        time.sleep(0.5)
        sessions = leader.metric("/v1/agent/metrics?format=prometheus", "consul_session_ttl_active") or sessions
    time.sleep(TTL + OVER / 2)
    if program.poll() is None:
        leader.stop(signal.SIGKILL)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["exact", "exact-kill", "holders"])
    options.add_argument("--binary", required=True)
    options.add_argument("--program", default="build/release/session_scale")
    options.add_argument("--nodes", type=int, default=3)
    options.add_argument("--folder", default="/var/tmp")
    options.add_argument("words", nargs="*", help="for session_scale, behind --")
    given = options.parse_args()
    allow_open_files(65536)
    with scratch(given.folder, "session-scale") as (folder, servers):
        config = {"limits": {"http_max_conns_per_client": 20000}, "telemetry": {"prometheus_retention_time": "1h"}}
        servers += cluster(given.binary, folder, given.nodes, config)
        leader = leader_of(servers)
        asked = leader if given.what != "exact-kill" else next(s for s in servers if s is not leader)
        program = subprocess.Popen(
            [given.program, f"127.0.0.1:{asked.http_port}", *words_of(given.what, servers), *given.words], stdout=subprocess.PIPE, text=True
        )
        if given.what == "exact-kill":
            threading.Thread(target=kill_half_way, args=(leader, program), daemon=True).start()
        said = program.communicate()[0]
        if program.returncode != 0:
            return program.returncode
        figures = json.loads(said)
        if given.what != "holders":  # of all sessions that this leader ended
            text = leader_of([s for s in servers if s.process]).ask("GET", "/v1/agent/metrics?format=prometheus")[1].decode()
            figures["lateness_by_the_leader"] = [line for line in text.splitlines() if line.startswith("consul_session_ttl_invalidate")]
        print(json.dumps(figures, indent=2))
        holders = figures.get("end_of_holders")
        return int(figures.get("exact", {}).get("early", 0) > 0 or (holders is not None and holders["handed_on_to_the_head"] < holders["resources_held"]))


if __name__ == "__main__":
    sys.exit(main())
