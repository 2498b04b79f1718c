#!/usr/bin/env python3
"""Runs tools/move-from-consul between two real servers and looks at what arrives.

usage: move_test.py BELAY [SOURCE]     SOURCE: the program of the old server; default: BELAY, too. With Consul 1.8.7 there it is the real thing

The story: a server with ACLs holds keys (binary, empty, large, with flags, odd names, under a lock), external nodes with services and
checks, a service of its own agent, policies, roles and tokens. They are copied; then the source changes, and they are copied again.
"""
import base64
import ctypes
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOVE = ROOT / "tools/move-from-consul"
MASTER = "b1a7c0de-0000-4000-8000-00000000a5e1"
ALICE = "a11ce000-1111-4222-8333-444455556666"
NODE_ID = "11111111-2222-4333-8444-555566667777"


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Server:
    def __init__(self, binary, name, folder):
        http, rpc, lan = free_ports(3)
        self.address = f"http://127.0.0.1:{http}"
        config = folder / f"{name}.json"
        config.write_text(json.dumps({
            "server": True, "bootstrap": True, "node_name": name, "data_dir": str(folder / name), "bind_addr": "127.0.0.1",
            "client_addr": "127.0.0.1", "ports": {"http": http, "server": rpc, "serf_lan": lan, "serf_wan": -1, "dns": -1, "grpc": -1},
            "acl": {"enabled": True, "default_policy": "deny", "tokens": {"master": MASTER, "agent": MASTER}},
            "performance": {"raft_multiplier": 1}}))
        self.log = folder / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([binary, "agent", "-config-file", str(config)], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        end = time.monotonic() + 60
        while not self.works():
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit(f"{name} did not come up\n" + self.log.read_text(errors="replace")[-3000:])
            time.sleep(0.1)

    def works(self):
        """The master token is there, and so is the server's own node."""
        try:
            return self.ask("GET", "/v1/acl/token/self")[0] == 200 and len(self.json("/v1/catalog/nodes")) == 1
        except OSError:
            return False

    def ask(self, method, path, body=None, token=MASTER):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"X-Consul-Token": token}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    def json(self, path):
        status, body = self.ask("GET", path)
        return json.loads(body) if status == 200 else None

    def put(self, path, body, token=MASTER):
        status, answer = self.ask("PUT", path, body, token)
        assert status == 200, (path, status, answer)
        return json.loads(answer) if answer else None

    def keys(self):
        rows = self.json("/v1/kv/?recurse") or []
        return {r["Key"]: (base64.b64decode(r["Value"] or ""), r["Flags"]) for r in rows}

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def key_path(key):
    return "/v1/kv/" + urllib.parse.quote(key, safe="/")


def fill(server):
    for i in range(200):
        server.put(f"/v1/kv/many/{i:03}?flags={i * 7}", f"value {i}".encode())
    server.put(key_path("binary") + "?flags=18446744073709551615", bytes(range(256)))
    server.put(key_path("empty"), b"")
    server.put(key_path("large"), os.urandom(500_000))
    server.put(key_path("odd/ö %3f?&#\"\\ +"), b"odd")
    session = server.put("/v1/session/create", {"Name": "holder", "TTL": "600s"})["ID"]
    assert server.put(key_path("held") + "?acquire=" + session, b"by somebody") is True
    server.put("/v1/catalog/register", {
        "ID": NODE_ID, "Node": "db-1", "Address": "10.9.8.7", "NodeMeta": {"external-node": "true"}, "TaggedAddresses": {"wan": "192.0.2.1"},
        "Service": {"ID": "pg-a", "Service": "pg", "Port": 5432, "Tags": ["primary", "v15"], "Meta": {"m": "1"},
                    "Weights": {"Passing": 3, "Warning": 1}},
        "Checks": [{"CheckID": "pg-up", "Name": "pg answers", "Status": "passing", "ServiceID": "pg-a", "Output": "fine",
                    "Definition": {"TCP": "10.9.8.7:5432", "Interval": "10s", "Timeout": "2s"}},
                   {"CheckID": "disk", "Name": "disk", "Status": "warning", "Notes": "90 %"}]})
    server.put("/v1/catalog/register", {"Node": "bare", "Address": "10.9.8.8"})
    server.put("/v1/agent/service/register", {"Name": "of-the-agent", "Port": 81})
    server.put("/v1/acl/policy", {"Name": "app", "Description": "writes app/", "Rules": 'key_prefix "app/" { policy = "write" }'})
    server.put("/v1/acl/policy", {"Name": "look", "Rules": 'key_prefix "" { policy = "read" }\nnode_prefix "" { policy = "read" }'})
    server.put("/v1/acl/role", {"Name": "deploy", "Policies": [{"Name": "app"}, {"Name": "look"}],
                                "ServiceIdentities": [{"ServiceName": "web"}]})
    server.put("/v1/acl/token", {"AccessorID": ALICE, "SecretID": ALICE[::-1].replace("-", "")[:8] + ALICE[8:], "Description": "alice",
                                 "Roles": [{"Name": "deploy"}], "Policies": [{"Name": "look"}]})
    server.put("/v1/acl/token", {"Description": "plain", "Policies": [{"Name": "app"}]})
    server.put("/v1/acl/token/00000000-0000-0000-0000-000000000002", {
        "AccessorID": "00000000-0000-0000-0000-000000000002", "Description": "Anonymous Token", "Policies": [{"Name": "look"}]})


def move(source, to, *options):
    done = subprocess.run([sys.executable, str(MOVE), source.address, to.address, *options], capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, FROM_TOKEN=MASTER, TO_TOKEN=MASTER))
    print(f"$ move-from-consul {' '.join(options)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode, done.stdout + done.stderr


def secret_of(server, description):
    accessor = next(t["AccessorID"] for t in server.json("/v1/acl/tokens") if t["Description"] == description)
    return server.json("/v1/acl/token/" + accessor)["SecretID"]


def check(what, holds):
    if not holds:
        sys.exit(f"not so: {what}")


def story(source, to):
    fill(source)
    code, said = move(source, to, "--dry-run")
    check("a dry run ends with 0", code == 0)
    check("a dry run writes nothing", not to.keys() and len(to.json("/v1/acl/policies")) == 1 and len(to.json("/v1/catalog/nodes")) == 1)

    code, said = move(source, to)
    check("all is taken", code == 0)
    check("keys, values and flags are equal", to.keys() == source.keys() and len(to.keys()) == 205)
    check("the lock is reported, with its session", "1 sessions and 1 locks are not moved" in said and "holds held" in said)
    check("no lock arrives", "Session" not in to.json("/v1/kv/held")[0])
    check("what the agent registered is told", "of-the-agent" in said and to.json("/v1/catalog/service/of-the-agent") == [])
    for path in ("/v1/catalog/node/db-1", "/v1/catalog/node/bare", "/v1/health/service/pg"):
        def plain(x):
            drop = {"CreateIndex", "ModifyIndex"}
            if isinstance(x, dict):
                return {k: plain(v) for k, v in x.items() if k not in drop}
            return [plain(v) for v in x] if isinstance(x, list) else x
        a, b = plain(source.json(path)), plain(to.json(path))
        check(f"{path} is the same\n{json.dumps(a, sort_keys=True)}\n{json.dumps(b, sort_keys=True)}", a == b)
    for who in ("alice", "plain"):
        check(f"the secret of {who} opens the same", secret_of(source, who) == secret_of(to, who))
    for server in (source, to):
        alice, plain_secret = secret_of(server, "alice"), secret_of(server, "plain")
        check("alice writes app/", server.ask("PUT", "/v1/kv/app/x", b"1", alice)[0] == 200)
        check("alice does not write elsewhere", server.ask("PUT", "/v1/kv/other", b"1", alice)[0] == 403)
        check("plain does not read elsewhere", server.ask("GET", "/v1/kv/empty", token=plain_secret)[0] in (403, 404))
        check("everybody reads", server.ask("GET", "/v1/kv/empty", token="")[0] == 200)

    code, said = move(source, to)
    check("a second time there is nothing to do", code == 0 and "0 are missing there, 0 differ" in said and "; 2 are at the target as they are; 0 rows" in said
          and said.count("0 written") == 3)

    source.put("/v1/kv/many/000?flags=1", b"changed")
    source.ask("DELETE", "/v1/kv/many/001")
    source.put("/v1/kv/new", b"new")
    to.put("/v1/kv/mine", b"of the target")
    policy = next(p for p in source.json("/v1/acl/policies") if p["Name"] == "app")
    source.put("/v1/acl/policy/" + policy["ID"], {"ID": policy["ID"], "Name": "app", "Rules": 'key_prefix "app/" { policy = "read" }'})
    code, said = move(source, to)
    check("what differs is told and not written over", code == 1 and "many/000" in said and "policy app" in said
          and to.keys()["many/000"][0] == b"value 0" and to.keys()["new"][0] == b"new")
    code, said = move(source, to, "--mirror", "--prefix", "many/")
    check("a mirror of a prefix leaves the rest alone", code == 0 and "mine" in to.keys() and "many/001" not in to.keys()
          and to.keys()["many/000"] == (b"changed", 1))
    check("a mirror of policies counts at once", to.ask("PUT", "/v1/kv/app/x", b"2", secret_of(to, "alice"))[0] == 403)
    code, said = move(source, to, "--mirror")
    check("a mirror is equal", code == 0 and to.keys() == source.keys())
    to.put("/v1/acl/policy", {"Name": "extra", "Rules": ""})
    code, said = move(source, to, "--mirror", "--only", "acl")
    check("what the target alone has is told and stays", code == 0 and "1 policies are at the target only: extra" in said)
    code, said = move(source, to, "--agents", "--only", "catalog")
    services = to.json("/v1/catalog/service/of-the-agent")
    check("--agents brings services of agents along", code == 0 and len(services) == 1 and services[0]["ServicePort"] == 81)
    done = subprocess.run([sys.executable, str(MOVE), source.address, to.address], capture_output=True, text=True, env=dict(
        os.environ, FROM_TOKEN=secret_of(source, "plain"), TO_TOKEN=MASTER), timeout=60)
    check("without permission it stops", done.returncode == 2 and "403" in done.stderr)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 64
    belay = os.environ.get("BELAY_BINARY") or sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="belay-move-") as folder:
        folder = pathlib.Path(folder)
        servers = [Server(sys.argv[2] if len(sys.argv) == 3 else belay, "old", folder)]
        try:
            servers.append(Server(belay, "new", folder))
            story(*servers)
        finally:
            for s in servers:
                s.stop()
    print("all as it should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
