#!/usr/bin/env python3
"""Something goes wrong at three in the morning: what servers say of it by themselves, in their logs, to probes and to `belay members`.
Each story is a fault of real servers: a full disk, a stopped process, a deleted directory, a slow sync, a restore that nobody announced.

usage: warnings_test.py BELAY FAULTY_DISK [STORY...]
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from disaster_test import MASTER, Cluster, put, save
from servers import Server, check, eventually, free_ports

KEY = "aGVyZSBhcmUgdGhpcnR5LXR3byBieXRlcyBvZiBrZXk="


# What is told must not depend on how busy the machine is: no elections but those of the story.
SLOW_ELECTIONS = {"performance": {"raft_multiplier": 5}}


def ready(server):
    """(status, what /v1/agent/ready says)"""
    status, text = server.ask("GET", "/v1/agent/ready")
    return status, json.loads(text)


def lines(cluster, n, *words):
    """Of the log of a server: those with all of these words."""
    return [line for line in (cluster.folder / f"{n}.log").read_text(errors="replace").splitlines() if all(w in line for w in words)]


def number_of(cluster, server):
    return cluster.servers.index(server)


def members(cluster, n):
    """name -> alive or failed, as `belay members` of that server prints it"""
    run = subprocess.run([cluster.binary, "members", cluster.at(n)], capture_output=True, text=True, timeout=60)
    return {words[0]: words[2] for words in map(str.split, run.stdout.splitlines()[1:])}


def a_full_disk(binary, folder, _):
    """H2: a follower with a full disk said that it was ready and behind by nothing. Then another one is lost, and no write is stored."""
    c = Cluster(binary, folder, SLOW_ELECTIONS)
    small = folder / "server-with-a-small-disk"
    mounted = f'mount -t tmpfs -o size=56m tmpfs "{c.data(2)}"'
    namespace = next((w for w in (["unshare", "-m"], ["unshare", "-rm"])
                      if subprocess.run([*w, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode == 0), None)
    if namespace is None:
        print("SKIPPED: no tmpfs can be mounted here", flush=True)
        return
    small.write_text(f"""#!/bin/sh
exec {' '.join(namespace)} sh -c '{mounted} && exec "$0" "$@"' {binary} "$@"
""")
    small.chmod(0o755)
    c.programs[2] = str(small)
    c.data(2).mkdir()
    c.start(0, 1, 2)
    full = c.servers[2]
    if c.leader() is full:
        full.process.send_signal(signal.SIGSTOP)
        eventually("another one leads", lambda: any(s.leads() for s in c.servers[:2]))
        full.process.send_signal(signal.SIGCONT)
    put(next(s for s in c.servers[:2] if s.leads()), "first", b"1")
    c.well(3)
    eventually("it is ready", lambda: ready(full) == (200, {"Ready": True, "Behind": 0}))
    check("disk_full = false" in c.belay("info", c.at(2)), "belay info says that the disk is not full")
    filler = pathlib.Path(f"/proc/{full.process.pid}/root{c.data(2)}/filler")  # where its mounts are seen
    with open(filler, "wb", buffering=0) as out:
        try:
            while True:
                out.write(b"x" * 65536)
        except OSError:
            pass
    leader = c.leader()
    check(leader is not full, "another one leads")
    for i in range(60):  # more than is left in its segments
        put(leader, f"large/{i}", b"v" * 400_000)
    status, said = eventually("it is not ready", lambda: next((r for r in [ready(full)] if r[0] == 503), None))
    check(said["Reason"] == "disk full", f"the reason is the disk: {said}")
    for i in range(300):
        put(leader, f"small/{i}", b"1")
    stored = eventually("it counts what the leader has committed", lambda: ready(full)[1]["Behind"] >= 300 and c.belay("info", c.at(2)))
    check("disk_full = true" in stored, "belay info says that the disk is full")
    own, ahead = (int(re.search(rf"\b{name} = (\d+)", stored)[1]) for name in ("commit_index", "leader_commit_index"))
    check(ahead >= own + 300, f"and how far the leader is: {own}, {ahead}")
    health = {s["Name"]: s for s in json.loads(leader.ask("GET", "/v1/operator/autopilot/health")[1])["Servers"]}
    check([health[f"belay-{n}"]["DiskFull"] for n in range(3)] == [False, False, True], "autopilot names the disk")
    check(len(lines(c, 2, "[ERROR]", "disk full")) == 1, "its log says so once")

    # Of three one is left that stores anything.
    leader = c.leader()
    at = number_of(c, leader)
    other = next(n for n in range(2) if n != at)
    c.servers[other].process.kill()
    c.servers[other].process.wait()
    c.servers[other] = None
    leader.ask("PUT", "/v1/kv/unstored", b"1")
    told = eventually("the leader says what is missing", lambda: [line for line in lines(c, at, "no majority stores writes") if f"belay-{other}" in line])
    check(re.search(rf'belay-{other} silent for \d+ s', told[-1]) and "belay-2 disk full" in told[-1], told[-1])
    filler.unlink()
    eventually("it is ready again", lambda: ready(full)[0] == 200)
    put(leader, "stored", b"1")
    eventually("and it says that writes are stored again", lambda: lines(c, at, "a majority stores writes again"))
    check(lines(c, 2, "disk has space again"), "the full one says that there is room")
    check("disk_full = false" in c.belay("info", c.at(2)), "belay info, too")
    c.servers[other] = None
    c.stop(at, 2)


def a_stopped_server(binary, folder, _):
    """M2 and M5: a server that hangs was `alive` in every list, and said nothing when it went on."""
    c = Cluster(binary, folder, SLOW_ELECTIONS)
    c.start(0, 1, 2)
    put(c.leader(), "first", b"1")
    c.well(3)
    leader = number_of(c, c.leader())
    hung, other = (n for n in range(3) if n != leader)
    call = time.monotonic()
    check(set(members(c, leader).values()) == {"alive"}, "all are alive")
    call = time.monotonic() - call  # half a second with sanitizers
    run = subprocess.run([binary, "members", c.at(leader), "-status=failed"], capture_output=True, text=True)
    check(run.returncode == 2 and f"belay-{hung}" not in run.stdout, "none is failed")
    before = time.monotonic()
    c.servers[hung].process.send_signal(signal.SIGSTOP)
    eventually("the catalog has it as critical", lambda: f'"Node":"belay-{hung}"' in c.servers[leader].ask("GET", "/v1/health/state/critical")[1])
    critical = time.monotonic()
    wanted = {f"belay-{hung}": "failed", f"belay-{other}": "alive", f"belay-{leader}": "alive"}
    for n in (leader, other):
        eventually(f"belay-{n} lists it as failed, and the others as alive", lambda: members(c, n) == wanted)
    # A connection without a sign of life is closed after 10 s: it needs no longer to be seen than the silence in the catalog.
    check(time.monotonic() - critical < 0.5 * (critical - before) + 4 * call, f"at the same time: {time.monotonic() - critical:.1f} s after {critical - before:.1f} s")
    check(f"belay-{hung}" in c.belay("members", c.at(other), "-status=failed"), "-status=failed finds it")
    health = {s["Name"]: s for s in json.loads(c.servers[leader].ask("GET", "/v1/operator/autopilot/health")[1])["Servers"]}
    check([health[f"belay-{n}"]["SerfStatus"] for n in (leader, hung, other)] == ["alive", "failed", "alive"], "SerfStatus says so")
    eventually("the log of the leader says so", lambda: lines(c, leader, "[WARN]", "member not heard from for 5 s", f"node=belay-{hung}"))
    check(not lines(c, leader, "member not heard from for 5 s", f"node=belay-{other}"), "of that one only")
    check(not lines(c, hung, "process did not run"), "nothing is said yet")
    c.servers[hung].process.send_signal(signal.SIGCONT)
    stood = time.monotonic() - before
    told = eventually("it says for how long it did not run", lambda: lines(c, hung, "[WARN]", "process did not run"))
    seconds = float(re.search(r"seconds=([\d.]+)", told[0])[1])
    check(len(told) == 1 and 0.8 * stood - 0.5 < seconds < 1.2 * stood + 0.5, f"{told[0]}; it was {stood:.1f} s")
    eventually("it is alive again", lambda: set(members(c, other).values()) == {"alive"} == set(members(c, leader).values()))
    check(not lines(c, other, "process did not run") and not lines(c, leader, "process did not run"), "the others have run all the time")

    print("== elections")
    name = f"belay-{leader}"
    known = [len(lines(c, n, "election started")) for n in range(3)]

    def started():
        return [line for n in range(3) if n != leader for line in lines(c, n, "election started")[known[n]:]]
    c.servers[leader].process.send_signal(signal.SIGSTOP)
    silent = eventually("one begins an election", started)
    check(re.search(rf'reason="heartbeat timeout" last_leader={name} last_contact=\d+ms', silent[0]), silent[0])

    def leads_now():
        return next((n for n in range(3) if n != leader and lines(c, n, "leadership gained")[-1:] and c.servers[n].leads()), None)
    following = eventually("another one leads", lambda: [n] if (n := leads_now()) is not None else None)[0]
    third = next(n for n in range(3) if n not in (leader, following))
    eventually("the third one says who", lambda: lines(c, third, "leader elected", f"leader=belay-{following}"))
    c.servers[leader].process.send_signal(signal.SIGCONT)
    eventually("the old leader says why it leads no more",
               lambda: lines(c, leader, "leadership lost", 'reason="newer term received"') or lines(c, leader, "leadership lost", "no majority of the voters"))
    c.well(3)
    leader = number_of(c, c.leader())
    known = [len(lines(c, n, "election started")) for n in range(3)]
    c.servers[leader].process.kill()
    lost = eventually("one begins an election again", started)
    check(f'reason="connection to the leader lost" last_leader=belay-{leader}' in lost[0], lost[0])
    name = f"connection to peer lost; retrying\" peer=belay-{leader}"
    for n in range(3):
        if n != leader:
            eventually("one line names the lost server", lambda: lines(c, n, name) or lines(c, n, name.replace('"', "")))
    c.servers[leader].process.wait()
    c.servers[leader] = None
    c.stop(*(n for n in range(3) if n != leader))


def a_member_is_replaced(binary, folder, _):
    """M5: an empty server took a lost one's place, and the log named nobody; it complained of its name for ten seconds."""
    c = Cluster(binary, folder, {"encrypt": KEY})
    c.start(0, 1, 2)
    put(c.leader(), "first", b"1")
    c.well(3)
    lost = next(n for n in range(3) if c.servers[n] is not c.leader())
    rest = [n for n in range(3) if n != lost]
    ids = lambda: {p["Node"]: p["ID"] for p in json.loads(c.leader().ask("GET", "/v1/operator/raft/configuration")[1])["Servers"]}
    before = ids()[f"belay-{lost}"]
    size = (folder / f"{lost}.log").stat().st_size
    c.stop(lost)
    shutil.rmtree(c.data(lost))
    c.start(lost)
    eventually("the new one has its place", lambda: ids().get(f"belay-{lost}") not in (None, before))
    c.well(3)
    after = ids()[f"belay-{lost}"]
    for n in rest:
        eventually("its log says who was added", lambda: lines(c, n, "member added", f"server=belay-{lost}", f"id={after}"))
        eventually("and who was removed", lambda: lines(c, n, "member removed", f"server=belay-{lost}", f"id={before}"))
        eventually("and who votes", lambda: lines(c, n, "member became a voter", f"id={after}") or lines(c, n, "member added", f"id={after}", "votes=true"))
    started = [line for n in rest for line in lines(c, n, "membership change started") if before in line or after in line]
    check(started and all("reason=" in line for line in started), f"the leader says what it does, and why: {started[:1]}")
    eventually("it is in the catalog", lambda: c.leader().ask("GET", f"/v1/health/node/belay-{lost}")[1].count('"passing"') >= 1)
    newcomer = (folder / f"{lost}.log").read_bytes()[size:].decode()
    check("catalog not updated" not in newcomer, "the newcomer does not complain of a name that is handed over")
    noise = [line for n in rest for line in lines(c, n, "serfHealth is passing", f"node=belay-{lost}")]
    check(len(noise) <= 4, f"nor is it registered again and again: {noise}")

    print("== removed by an operator")
    c.stop(lost)
    leader = c.leader()
    eventually("it is removed", lambda: leader.ask("DELETE", f"/v1/operator/raft/peer?id={after}")[0] == 200)
    for n in rest:
        eventually("its log says so", lambda: lines(c, n, "member removed", f"id={after}"))
    check(lines(c, number_of(c, leader), "membership change started", "removed by an operator"), "and the leader's says that it was an operator")
    c.stop(*rest)


def a_restore(binary, folder, _):
    """M0: after a restore into a new cluster the dead servers of the old one were alive, no session could be created for a minute, and no log said
    that everything had been replaced."""
    acl = {"acl": {"enabled": True, "default_policy": "deny", "tokens": {"master": MASTER, "agent": MASTER}}}
    folder.mkdir()
    old = Cluster(binary, folder / "old", acl)
    old_names = {f"belay-{n}" for n in range(3)}
    old.start(0, 1, 2)
    put(old.leader(), "kept", b"value")
    old.well(3)
    eventually("the catalog has all three", lambda: {n["Node"] for n in json.loads(old.leader().ask("GET", "/v1/catalog/nodes")[1])} == old_names)
    archive = save(old.leader())
    old.stop(0, 1, 2)

    c = Cluster(binary, folder / "new", acl)
    for n in range(3):
        c.more["node_name"] = f"new-{n}"
        c.start(n)
    put(c.leader(), "gone", b"1")
    c.well(3)
    names = {f"new-{n}" for n in range(3)}
    at = number_of(c, c.leader())
    for name in names:  # it says so when it finds them registered, and looks a minute later again
        eventually(f"{name} is registered", lambda: lines(c, at, "member heard from: serfHealth is passing", f"node={name}"))
    for through in ("leader", "follower"):
        leader = c.leader()
        server = leader if through == "leader" else next(s for s in c.servers if s is not leader)
        accessor = json.loads(leader.ask("GET", "/v1/acl/token/self")[1])["AccessorID"]  # of now: the archive may have another one for this secret
        counts = [len(lines(c, n, "archive restored")) for n in range(3)]
        check(server.ask("PUT", "/v1/snapshot", archive)[0] == 200, f"an archive of another cluster is restored through the {through}")
        status, text = leader.ask("PUT", "/v1/session/create")
        check(status == 200, f"a session can be created at once: {text.strip()}")
        check({n["Node"] for n in json.loads(leader.ask("GET", "/v1/catalog/nodes")[1])} == names, "the catalog has the servers of this cluster, and no others")
        check({m["Name"]: m["Status"] for m in json.loads(leader.ask("GET", "/v1/agent/members")[1])} == {name: 1 for name in names}, "so does the list of members")
        states = json.loads(leader.ask("GET", "/v1/health/state/any")[1])
        check({(s["Node"], s["Status"]) for s in states if s["CheckID"] == "serfHealth"} == {(name, "passing") for name in names}, "all of them pass")
        for n in range(3):
            eventually("its log has a warning", lambda: len(lines(c, n, "archive restored")) > counts[n])
            line = lines(c, n, "archive restored")[-1]
            check("[WARN]" in line and re.search(r"\bindex=\d+ keys=1 ", line) and f"accessor={accessor}" in line, line)
            eventually("a follower lists no others, too", lambda: {m["Name"] for m in json.loads(c.servers[n].ask("GET", "/v1/agent/members")[1])} == names)
    c.stop(0, 1, 2)


def a_deleted_data_directory(binary, folder, _):
    """M3: a server whose data directory was deleted went on acknowledging writes that were gone with it."""
    def deleted(data):
        shutil.rmtree(data)

    def emptied(data):
        for each in data.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()

    def moved(data):
        data.rename(f"{data}.elsewhere")

    def replaced(data):
        shutil.copytree(data, f"{data}.copy")
        data.rename(f"{data}.elsewhere")
        pathlib.Path(f"{data}.copy").rename(data)

    def without_its_log(data):
        shutil.rmtree(data / "raft")

    folder.mkdir()
    for fault, said in ((deleted, "was deleted or moved"), (emptied, "was deleted or moved"), (moved, "was deleted or moved"),
                        (replaced, "was replaced by another one"), (without_its_log, "was deleted or moved")):
        http, rpc = free_ports(2)
        data, log = folder / fault.__name__, folder / f"{fault.__name__}.log"
        server = Server(binary, ["-server", "-bootstrap", f"-data-dir={data}", f"-http-port={http}", f"-server-port={rpc}", "-bind=127.0.0.1"], http, log)
        eventually("it leads", server.leads)
        put(server, "a", b"1")
        check(server.ask("PUT", "/v1/snapshot", save(server))[0] == 200, "checkpoints and restores replace its files, which is no fault")
        try:
            server.process.wait(2.5)  # it looks every second
        except subprocess.TimeoutExpired:
            print("ok: it runs")
        else:
            raise SystemExit(log.read_text()[-3000:])
        fault(data)
        before = time.monotonic()
        eventually("it ends", lambda: server.process.poll() is not None, 30)
        took = time.monotonic() - before
        check(server.process.returncode == 66, f"data directory {fault.__name__}: it ends with its own exit code: {server.process.returncode}")
        last = log.read_text().splitlines()[-1]
        check("[ERROR]" in last and "data directory deleted or replaced" in last and said in last, last)
        check(took < 5 or os.getloadavg()[0] > 8, f"within 5 s: {took:.1f}")


def with_faults(binary, shim, faults, arguments, http, log):
    """A server with faulty_disk.cpp between it and its files, which leads."""
    more = {"LD_PRELOAD": shim, "ASAN_OPTIONS": "verify_asan_link_order=0", **faults}
    os.environ.update(more)
    try:
        server = Server(binary, arguments, http, log)
    finally:
        for name in more:
            del os.environ[name]
    eventually("it leads", server.leads)
    return server


def an_unproven_checkpoint(binary, folder, shim):
    """A disk changes a byte of what is written to the checkpoint. Nothing is lost as long as somebody looks after it."""
    folder.mkdir()
    http, rpc = free_ports(2)
    config, log, damaged = folder / "config.json", folder / "log", folder / "damaged"
    config.write_text(json.dumps({"server": True, "bootstrap": True, "data_dir": str(folder / "data"), "bind_addr": "127.0.0.1", "client_addr": "127.0.0.1",
                                  "ports": {"http": http, "server": rpc, "serf_lan": -1, "serf_wan": -1, "dns": -1, "grpc": -1}, "raft_snapshot_threshold": 1,
                                  "telemetry": {"prometheus_retention_time": "1m"}}))
    server = with_faults(binary, shim, {"BELAY_TEST_DAMAGE": str(damaged)}, ["-config-file", str(config)], http, log)
    put(server, "first", b"DAMAGE-ME")
    eventually("a checkpoint is written", lambda: sum(server.prometheus().get("consul_checkpoint_write_seconds_count", {}).values()) > 0)
    check(ready(server) == (200, {"Ready": True, "Behind": 0}), "it is ready")
    damaged.touch()
    put(server, "second", b"DAMAGE-ME")
    told = eventually("the log says so", lambda: [line for line in log.read_text().splitlines() if "it reads back different" in line])
    check("[ERROR]" in told[0], told[0])
    status, said = ready(server)
    check(status == 200 and said["Ready"] and "checkpoint" in said["Warning"], f"it is ready, with a warning: {said}")
    check(server.prometheus()["consul_checkpoint_unproven"][""] >= 1, "the metric of the alert counts it")
    put(server, "third", b"1")
    damaged.unlink()
    eventually("the warning ends with the next checkpoint that is right", lambda: ready(server) == (200, {"Ready": True, "Behind": 0}))
    server.stop()


def slow_syncs(binary, folder, shim):
    """M5: a disk that became slow was seen in metrics only."""
    folder.mkdir()
    for story, ms, count, found in (("one that takes long", 700, 1, r"longest_ms=7\d\d"), ("ten that take long for this disk", 120, 12, r"slow_in_last_minute=1\d")):
        http, rpc = free_ports(2)
        data, log, delay = folder / str(ms), folder / f"{ms}.log", folder / f"{ms}.delay"
        server = with_faults(binary, shim, {"BELAY_TEST_SYNC_MS": str(delay)},
                             ["-server", "-bootstrap", f"-data-dir={data}", f"-http-port={http}", f"-server-port={rpc}", "-bind=127.0.0.1"], http, log)
        for n in range(200):
            put(server, "a", str(n).encode())
        check("slow log syncs" not in log.read_text(), "usual syncs are no news")
        delay.write_text(str(ms))
        for n in range(count):
            put(server, "a", str(n).encode())
        told = eventually(f"{story}: its log says so", lambda: [line for line in log.read_text().splitlines() if "slow log syncs" in line])
        check("[WARN]" in told[0] and re.search(found, told[0]) and "median_ms=" in told[0], told[0])
        for n in range(15):
            put(server, "a", str(n).encode())
        check(log.read_text().count("slow log syncs") == 1, "not again within a minute")
        server.stop()


STORIES = {f.__name__: f for f in (a_full_disk, a_stopped_server, a_member_is_replaced, a_restore, a_deleted_data_directory, an_unproven_checkpoint, slow_syncs)}


def main():
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= set(STORIES):
        sys.exit(__doc__ + "\nstories: " + " ".join(STORIES))
    binary, shim = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="belay-warnings-") as name:
        for story in sys.argv[3:] or STORIES:
            print(f"==== {story}", flush=True)
            STORIES[story](binary, pathlib.Path(name) / story, shim)


if __name__ == "__main__":
    main()
