#!/usr/bin/env python3
"""The sections of docs/operate/disaster-recovery.md, done as they stand there: on three real servers with ACLs and `encrypt`, and on three
without, where lost servers have to be added by hand.

usage: disaster_test.py BELAY
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from servers import Server, check, eventually, free_ports

MASTER = "5ec2e700-0000-4000-8000-00000000a5e1"


class Cluster:
    """Three servers, each with its folder `data-N`; what an operator does to them is done by their numbers."""

    def __init__(self, binary, folder, more):
        self.binary, self.folder, self.more = binary, folder, dict(more)
        folder.mkdir()
        ports = free_ports(6)
        self.http, self.rpc = ports[:3], ports[3:]
        self.servers = [None] * 3
        self.programs = {}  # number -> what is started as that server, where it is not `binary` itself

    def data(self, n):
        return self.folder / f"data-{n}"

    def start(self, *numbers):
        for n in numbers:
            config = self.folder / f"{n}.json"
            config.write_text(json.dumps({
                "server": True, "bootstrap_expect": 3, "node_name": f"belay-{n}", "data_dir": str(self.data(n)), "bind_addr": "127.0.0.1",
                "client_addr": "127.0.0.1", "ports": {"http": self.http[n], "server": self.rpc[n], "serf_lan": -1, "serf_wan": -1, "dns": -1, "grpc": -1},
                "retry_join": [f"127.0.0.1:{p}" for p in self.rpc], "performance": {"raft_multiplier": 1}, **self.more}))
            token = self.more.get("acl", {}).get("tokens", {}).get("master", "")
            self.servers[n] = Server(self.programs.get(n, self.binary), ["-config-file", str(config)], self.http[n], self.folder / f"{n}.log", token)

    def stop(self, *numbers):
        for n in numbers:
            self.servers[n].stop()
            self.servers[n] = None

    def leader(self):
        def found():
            return next((s for s in self.servers if s is not None and s.leads()), None)
        return eventually("there is a leader", found)

    def well(self, voters):
        """All of them vote and are healthy."""
        def healthy():
            status, text = self.leader().ask("GET", "/v1/operator/autopilot/health")
            report = json.loads(text) if text.startswith("{") else {"Servers": []}
            return status == 200 and len(report["Servers"]) == voters and all(s["Voter"] for s in report["Servers"])
        eventually(f"{voters} servers vote and are well", healthy, 90)

    def belay(self, *words, code=0):
        run = subprocess.run([self.binary, *words], capture_output=True, text=True, timeout=60, cwd=self.folder,
                             env={k: v for k, v in os.environ.items() if not k.startswith(("CONSUL_", "BELAY_"))})
        check(run.returncode == code, f"belay {' '.join(words)}" + (f": {run.returncode} {run.stdout}{run.stderr}" if run.returncode != code else ""))
        return run.stdout

    def at(self, n):
        return f"-http-addr=127.0.0.1:{self.http[n]}"


def put(server, key, value):
    return eventually(f"{key} is written", lambda: server.ask("PUT", f"/v1/kv/{key}", value)[1].strip() == "true")


def has(server, key, value):
    return eventually(f"{key} is there", lambda: server.ask("GET", f"/v1/kv/{key}?raw") == (200, value))


def save(server):
    with_token = {"X-Consul-Token": server.token} if server.token else {}
    with urllib.request.urlopen(urllib.request.Request(server.address + "/v1/snapshot", headers=with_token), timeout=30) as answer:
        return answer.read()


class Follower:
    """Follows the keys below app/ with a file, and as a program that keeps the cursor of a long poll; away while the disaster happens."""

    def __init__(self, cluster, name):
        self.cluster, self.name, self.file = cluster, name, cluster.folder / f"{name}.place"
        self.follow(f"{name}-before")
        leader = cluster.leader()
        self.cursor = eventually("long polls have a cursor with the history", lambda: self.ask(leader, "")[2].get("X-Belay-Cursor"))
        check("@" in self.cursor, f"the cursor is {self.cursor}")
        for n in range(40):
            leader.ask("PUT", f"/v1/kv/app/{name}-lost-{n}", b"1")  # which nobody has in the end, perhaps

    def ask(self, server, more, headers={}):
        """(status, text, headers)"""
        headers = {**headers, **({"X-Consul-Token": server.token} if server.token else {})}
        request = urllib.request.Request(f"{server.address}/v1/kv/app/?recurse&changes{more}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read(400).decode() if "text/event-stream" in headers.values() else answer.read().decode(), answer.headers
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode(), refused.headers

    def follow(self, key):
        """`belay watch` until it is told of a key that is written meanwhile. @returns what it was told"""
        out, leader = self.cluster.folder / f"{key}.told", self.cluster.leader()
        words = ["-snapshot"] if not self.file.exists() else []
        token = [f"-token={leader.token}"] if leader.token else []
        with open(out, "w") as told:
            watch = subprocess.Popen([self.cluster.binary, "watch", f"-http-addr={leader.address}", *token, "-changes", "-prefix=app/", f"-cursor-file={self.file}", *words], stdout=told)
        try:
            put(leader, f"app/{key}", b"1")
            eventually(f"{self.name} is told of {key}", lambda: f'"Key":"app/{key}"' in out.read_text())
            return out.read_text()
        finally:
            watch.terminate()
            watch.wait(20)

    def is_notified(self):
        """That its history is over: before the new index has passed its cursor, and afterwards."""
        for passed in (False, True):
            for server in self.cluster.servers:
                if server is None:
                    continue
                def rejected():
                    status, text, _ = self.ask(server, f"&index={self.cursor}&wait=1s")
                    return status == 410 and "another history" in text
                eventually(f"{self.name}: its cursor is rejected{' when the index has passed it' if passed else ''}", rejected)
                status, text, _ = self.ask(server, "", {"Accept": "text/event-stream", "Last-Event-ID": self.cursor})
                check(status == 200 and "event: reset" in text and '"Reason":"history"' in text, "its stream begins with a reset")
            if not passed:
                for n in range(200):
                    self.cluster.leader().ask("PUT", f"/v1/kv/app/fill-{n % 3}", str(n).encode())
        told = self.follow(f"{self.name}-after")
        check(told.startswith('{"Event":"gap"'), f"{self.name}: watch says that there is a gap")
        self.follow(f"{self.name}-again")  # and goes on from there


def without_credentials(binary, folder):
    c = Cluster(binary, folder / "plain", {})
    c.start(0, 1, 2)
    leader = c.leader()
    put(leader, "app/config", b"first")
    c.well(3)

    print("== A disk is lost")
    lost = next(n for n in range(3) if c.servers[n] is not leader)
    c.stop(lost)
    c.data(lost).rename(f"{c.data(lost)}.lost")
    c.data(lost).mkdir()
    c.start(lost)
    eventually("it is ready", lambda: c.servers[lost].ask("GET", "/v1/agent/ready")[0] == 200)
    c.well(3)
    has(c.servers[lost], "app/config", "first")

    print("== Data is wrong")
    archive = save(c.leader())
    c.leader().ask("DELETE", "/v1/kv/app/?recurse")
    put(c.leader(), "other", b"later")
    http, rpc = free_ports(2)
    own = Server(binary, ["-dev", f"-http-port={http}", f"-server-port={rpc}"], http, c.folder / "dev.log")
    eventually("a -dev server leads", own.leads)
    check(own.ask("PUT", "/v1/snapshot", archive)[0] == 200, "the archive is restored into a server of its own")
    (c.folder / "app.json").write_text(c.belay("kv", "export", f"-http-addr=127.0.0.1:{http}", "app/"))
    c.belay("kv", "import", c.at(0), "@app.json")
    has(c.leader(), "app/config", "first")
    has(c.leader(), "other", "later")
    own.stop()
    follower = Follower(c, "restored")
    check(c.leader().ask("PUT", "/v1/snapshot", save(c.leader()))[0] == 200, "all of it is restored in place")
    follower.is_notified()

    print("== A majority is down")
    c.stop(1, 2)
    eventually("nobody leads", lambda: c.servers[0].ask("GET", "/v1/status/leader")[1].strip() == '""')
    check(c.servers[0].ask("GET", "/v1/kv/other?stale&raw") == (200, "later"), "who is left answers stale reads")

    def lines():
        return [line for line in c.servers[0].log.read_text().splitlines() if "this server has no leader" in line and "missing: " in line]
    eventually("its log says so, and again ten seconds later", lambda: len(lines()) > 1)
    check(all(f"belay-{n} at 127.0.0.1:{c.rpc[n]}" in lines()[0] for n in (1, 2)), lines()[0])
    c.start(1)
    put(c.leader(), "again", b"1")
    c.start(2)
    c.well(3)

    print("== A majority of the disks is lost")
    follower = Follower(c, "recovered")
    c.stop(1, 2)
    for n in (1, 2):
        shutil.rmtree(c.data(n))
    check(re.search(r"last_log_index = \d+", c.belay("info", c.at(0))), "belay info shows last_log_index")
    c.stop(0)
    said = c.belay("operator", "raft", "recover", f"-data-dir={c.data(0)}", "-yes")
    check("It becomes the only member of a new cluster." in said and "belay operator raft add-peer -address=HOST:PORT" in said, "recover says what it does")
    c.start(0)
    put(c.leader(), "alone", b"1")
    peers = c.belay("operator", "raft", "list-peers", c.at(0))
    check(peers.count("\n") == 2 and "leader" in peers, "it is the only one")
    c.start(1, 2)
    for n in (1, 2):
        def added():
            run = subprocess.run([binary, "operator", "raft", "add-peer", c.at(0), f"-address=127.0.0.1:{c.rpc[n]}"], capture_output=True, text=True)
            return run.returncode == 0 and f'Added peer with address "127.0.0.1:{c.rpc[n]}"' in run.stdout
        eventually("it is added", added)
    c.well(3)
    has(c.servers[2], "app/config", "first")
    follower.is_notified()
    c.stop(0, 1, 2)


def with_credentials(binary, folder):
    keys = [base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2, 3)]
    acl = {"enabled": True, "default_policy": "deny", "tokens": {"master": MASTER, "agent": MASTER}}
    c = Cluster(binary, folder / "secured", {"acl": acl, "encrypt": keys[0]})
    c.start(0, 1, 2)
    put(c.leader(), "kept", b"value")
    token = json.loads(c.leader().ask("PUT", "/v1/acl/token", {"Policies": [{"Name": "global-management"}]})[1])["SecretID"]
    c.well(3)
    archive = save(c.leader())

    print("== Credentials are lost")
    token_flag = f"-token={MASTER}"
    c.belay("keyring", c.at(1), token_flag, "-install", keys[2])
    c.belay("keyring", c.at(1), token_flag, "-use", keys[2])
    c.belay("keyring", c.at(1), token_flag, "-remove", keys[0])
    listed = c.belay("keyring", c.at(0), token_flag, "-list")
    check(keys[2] in listed and keys[0] not in listed, "all servers have the new key, and no other")
    put(c.leader(), "changed", b"1")
    c.stop(2)
    c.start(2)  # its configuration has the old one
    c.well(3)

    print("== No server has the key of encrypt any more")
    c.stop(0, 1, 2)
    c.more["encrypt"] = keys[1]
    for n in range(3):
        (c.data(n) / "serf/local.keyring").unlink()
    c.start(0, 1, 2)
    put(c.leader(), "with-another-key", b"1")
    c.well(3)

    print("== Everything is lost")
    follower = Follower(c, "replaced")
    c.stop(0, 1, 2)
    for n in range(3):
        shutil.rmtree(c.data(n))
    c.more["acl"] = {**acl, "tokens": {"master": "5ec2e700-0000-4000-8000-0000000000e3", "agent": MASTER}}
    c.start(0, 1, 2)
    leader = c.leader()
    put(leader, "new", b"1")
    status, text = leader.ask("PUT", "/v1/snapshot", archive[:-30])
    check(status == 500 and text.startswith("failed to read snapshot file: "), f"an archive that is cut is refused: {text.strip()}")
    check(leader.ask("PUT", "/v1/snapshot", archive)[0] == 200, "the archive is restored with the new cluster's token of management")
    leader = c.leader()
    leader.token = token
    has(leader, "kept", "value")
    check(leader.ask("GET", "/v1/kv/new")[0] == 404, "everything is as in the archive")
    check(leader.ask("GET", "/v1/acl/token/self")[0] == 200, "tokens are those of the archive")
    for server in c.servers:
        server.token = token
    follower.is_notified()

    print("== No token may do anything")
    for row in json.loads(leader.ask("GET", "/v1/acl/tokens")[1]):
        if row["AccessorID"] != "00000000-0000-0000-0000-000000000002" and row["Description"] != "":
            leader.ask("DELETE", f"/v1/acl/token/{row['AccessorID']}")
    status, text = leader.ask("PUT", "/v1/acl/bootstrap", token="")
    if status == 200:
        check(status == 200, "nobody has bootstrapped yet")
        status, text = leader.ask("PUT", "/v1/acl/bootstrap", token="")
    refused = re.search(r"ACL bootstrap no longer allowed \(reset index: (\d+)\)", text)
    check(status == 403 and refused, f"bootstrap is refused: {text.strip()}")
    number = next(n for n in range(3) if c.servers[n] is leader)
    (c.data(number) / "acl-bootstrap-reset").write_text(refused[1] + "\n")
    status, text = leader.ask("PUT", "/v1/acl/bootstrap", token="")
    check(status == 200 and json.loads(text)["SecretID"], "with the file it is permitted once")
    leader.token = json.loads(text)["SecretID"]
    put(leader, "written-with-it", b"1")
    check(leader.ask("PUT", "/v1/acl/bootstrap", token="")[0] == 403, "and not again")
    c.stop(0, 1, 2)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="belay-disaster-") as name:
        without_credentials(binary, pathlib.Path(name))
        with_credentials(binary, pathlib.Path(name))


if __name__ == "__main__":
    main()
