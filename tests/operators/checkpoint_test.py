#!/usr/bin/env python3
"""A real server writes checkpoints, is stopped, and finds its newest one damaged: it starts from an older one and the log after
it, and says so. `belay operator check` says beforehand whether it would start. With nothing left it does not start, and names
what it looked at.

usage: checkpoint_test.py BELAY
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import urllib.request

from servers import Server, check, eventually, free_ports


class One:
    """A server alone, with a checkpoint after each entry."""

    def __init__(self, binary, folder, older_age="0.5s"):
        self.binary, self.folder, self.data = binary, folder, folder / "data"
        self.http, self.rpc = free_ports(2)
        self.config = folder / "belay.json"
        self.config.write_text(json.dumps({
            "server": True, "bootstrap": True, "node_name": "n1", "data_dir": str(self.data), "bind_addr": "127.0.0.1",
            "client_addr": "127.0.0.1", "ports": {"http": self.http, "server": self.rpc, "serf_lan": -1, "serf_wan": -1, "dns": -1, "grpc": -1},
            "raft_snapshot_threshold": 1, "raft_older_checkpoint_age": older_age}))
        self.log = folder / "log"

    def start(self):
        self.server = Server(self.binary, ["-config-file", str(self.config)], self.http, self.log)
        eventually("it leads", self.server.leads)
        return self.server

    def checkpoints(self):
        _, text = self.server.ask("GET", "/v1/agent/metrics")
        return {s["Name"]: s["Count"] for s in json.loads(text)["Samples"] + json.loads(text)["Counters"]}

    def check(self, code):
        run = subprocess.run([self.binary, "operator", "check", "-format=json", str(self.data)], capture_output=True, text=True, timeout=60)
        check(run.returncode == code, f"operator check ends with {code}" + ("" if run.returncode == code else f": {run.returncode} {run.stdout} {run.stderr}"))
        return json.loads(run.stdout)


def state_of(report, part):
    return next(p["Right"] for p in report["Parts"] if p["Part"] == part)


def write_keys(one, name, count):
    for n in range(count):
        eventually(f"{name}-{n} is written", lambda: one.server.ask("PUT", f"/v1/kv/{name}-{n}", b"v" * 300)[1].strip() == "true")


def let_it_keep_an_older_one(one):
    """Copies of the state may add a tenth to what is written: so much is written first."""
    def there():
        one.server.ask("PUT", "/v1/kv/churn", b"c" * 20_000)
        return (one.data / "state/older.snapshot").exists()
    end = time.monotonic() + 60
    while not there() and time.monotonic() < end:
        pass
    check(there(), "an older checkpoint is kept")


def has_keys(one, name, count):
    missing = [n for n in range(count) if one.server.ask("GET", f"/v1/kv/{name}-{n}?raw&consistent") != (200, "v" * 300)]
    check(not missing, f"all keys of {name} are there")


def spoil(path, how):
    """Where rows are, not only where nothing is."""
    data = bytearray(path.read_bytes())
    if how == "bits of many pages":
        for at in range(8192 + 4000, len(data), 512):
            data[at] ^= 0x55
    elif how == "pages of zeros":
        data[8192:] = bytes(len(data) - 8192)
    elif how == "random bytes":
        data[8192:] = random.Random(7).randbytes(len(data) - 8192)
    elif how == "half of it":
        del data[len(data) // 2 & ~4095:]
    elif how == "nothing in it":
        data = bytearray()
    path.write_bytes(data)


def newest_is_damaged(binary, folder, how, older_age, told):
    print(f"-- the newest checkpoint has {how}")
    folder.mkdir()
    one = One(binary, folder, older_age)
    one.start()
    write_keys(one, "early", 20)
    eventually("a checkpoint was written", lambda: any(name.endswith("checkpoint.write") for name in one.checkpoints()))
    if older_age != "1h":
        let_it_keep_an_older_one(one)
    write_keys(one, "late", 20)
    one.server.stop()
    report = one.check(0)
    check(state_of(report, "checkpoint") and report["Starts"], "the directory is as it should be")
    newest = one.data / "state/checkpoint.mdb"
    if how == "another name":
        newest.unlink()
    else:
        spoil(newest, how)
    report = one.check(0)
    check(not state_of(report, "checkpoint") and report["Starts"], f"the damage is seen, and that a server would start: {report['Verdict']}")
    one.start()
    has_keys(one, "early", 20)
    has_keys(one, "late", 20)
    check("[ERROR]" in one.log.read_text() and told in one.log.read_text(), "an ERROR says so")
    write_keys(one, "after", 5)
    one.server.stop()
    check(one.check(0)["Starts"], "it would start again")
    one.start()
    for name, count in (("early", 20), ("late", 20), ("after", 5)):
        has_keys(one, name, count)
    one.server.stop()


def keyed_answer_shows_locked_key(binary, folder):
    print("-- the kept answer of a keyed transaction shows a locked key")
    folder.mkdir()
    one = One(binary, folder)
    one.start()

    def session():
        status, text = one.server.ask("PUT", "/v1/session/create", {"TTL": "600s", "NodeChecks": []})
        return json.loads(text)["ID"] if status == 200 else None

    operations = [{"KV": {"Verb": "lock", "Key": "job", "Value": "", "Session": eventually("there is a session", session)}}]

    def once():
        request = urllib.request.Request(one.server.address + "/v1/txn", json.dumps(operations).encode(), {"Idempotency-Key": "once-1"}, method="PUT")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    answer = eventually("the key is locked", once)
    written = one.checkpoints()
    write_keys(one, "after", 3)
    eventually("checkpoints were written with it", lambda: one.checkpoints() != written)
    let_it_keep_an_older_one(one)
    for _ in range(2):
        one.server.stop()
        check(one.check(0)["Starts"], "it would start")
        one.start()
        check(once() == answer, "the answer is kept")
    one.server.stop()


def nothing_is_left(binary, folder):
    print("-- both checkpoints are damaged")
    folder.mkdir()
    one = One(binary, folder)
    one.start()
    write_keys(one, "early", 20)
    let_it_keep_an_older_one(one)
    write_keys(one, "late", 5)
    one.server.stop()
    for name in ("checkpoint.mdb", "older.snapshot"):
        spoil(one.data / "state" / name, "random bytes")
    before = (one.data / "state/checkpoint.mdb").read_bytes()
    segments = sorted((one.data / "raft").iterdir())
    report = one.check(1)
    check(not report["Starts"], f"it would not start: {report['Verdict']}")
    run = subprocess.run([binary, "agent", "-config-file", str(one.config)], capture_output=True, text=True, timeout=60)
    text = run.stdout + run.stderr
    check(run.returncode == 1 and "cannot start" in text, f"it does not start: {run.returncode}")
    check("checkpoint.mdb" in text and "archive" in text and "other servers" in text, f"it says what it looked at, and what is left: {text[-900:]}")
    check((one.data / "state/checkpoint.mdb").read_bytes() == before and sorted((one.data / "raft").iterdir()) == segments, "nothing was changed")


def main():
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="belay-checkpoints-") as folder:
        for n, how in enumerate(("bits of many pages", "pages of zeros", "random bytes", "half of it", "nothing in it", "another name")):
            newest_is_damaged(binary, pathlib.Path(folder) / str(n), how, "0.5s", "newest checkpoint cannot be loaded; starting from an older one")
        # A young server has no older one yet, and the whole log.
        newest_is_damaged(binary, pathlib.Path(folder) / "young", "random bytes", "1h", "starting from the log alone")
        keyed_answer_shows_locked_key(binary, pathlib.Path(folder) / "keyed")
        nothing_is_left(binary, pathlib.Path(folder) / "left")
    print("ok")


main()
