#!/usr/bin/env python3
"""What an operator sees of real servers: metrics under the names that board and alert rules ask for, an archive of `belay debug` that
can be handed on, `-dev` in memory, `tools/serve` on a port that is in use.

usage: operators_test.py BELAY
"""
import base64
import json
import os
import pathlib
import re
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import time

from servers import Server, check, eventually, free_ports

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BOARD = ROOT / "packaging/grafana/belay.json"
RULES = ROOT / "packaging/prometheus/belay-alerts.yml"
MASTER = "5ec2e700-0000-4000-8000-00000000a5e1"
AGENT = "5ec2e700-0000-4000-8000-00000000a6e2"
KEY = base64.b64encode(b"a key between servers, 32 bytes!").decode()


# ---- what PromQL asks for

WORDS = {"by", "on", "and", "or", "unless", "group_left", "group_right", "without", "ignoring", "bool", "offset"}
SCRAPED = {"job", "instance"}  # labels that Prometheus adds itself


def asked(expression):
    """(metric, labels that are selected by) of an expression; of `by (...)` the labels, under the name of no metric."""
    out = []
    for labels in re.findall(r"\bby \(([^)]*)\)", expression):
        out.append((None, {l.strip() for l in labels.split(",")}))
    rest = re.sub(r"\b(by|on|without|ignoring) \([^)]*\)", " ", re.sub(r"\[[^]]*\]", " ", expression))
    for name, selector in re.findall(r"(?<![\w$\"])([a-zA-Z_:][\w:]*)(\{[^}]*\})?(?!\w|\s*\()", re.sub(r'"(?:[^"\\]|\\.)*"', '""', rest)):
        if name not in WORDS:
            out.append((name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))))
    return out


def expressions():
    rules = re.findall(r"^ *expr: (.*)$", RULES.read_text(), re.M)
    board = json.loads(BOARD.read_text())
    panels = [t["expr"] for p in board["panels"] for t in p.get("targets", [])]
    notes = [a["expr"] for a in board["annotations"]["list"]]
    variables = [re.match(r"label_values\((.*), \w+\)", v["query"]["query"])[1] for v in board["templating"]["list"] if v["type"] == "query"]
    if len(rules) < 15 or len(panels) < 25:
        raise SystemExit(f"{len(rules)} expressions of rules and {len(panels)} of the board were found: some are not read")
    return rules + panels + notes + variables


def names_are_given(server):
    given = server.prometheus()
    labels_of = lambda name: {l for labels in given[name] for l in re.findall(r'[{,](\w+)="', labels)} | SCRAPED
    all_labels = set().union(*(labels_of(name) for name in given))
    wrong, count = [], 0
    for expression in expressions():
        for name, labels in asked(expression):
            count += 1
            if name is None:
                wrong += [f"{l} in {expression}" for l in labels - all_labels]
            elif name != "up" and name not in given:
                wrong.append(f"{name} in {expression}")
            elif name != "up":
                wrong += [f"{name} has no label {l}, in {expression}" for l in labels - labels_of(name)]
    check(not wrong and count > 100, f"{count} names that board and rules ask for are given by a server" + "".join("\n  " + w for w in wrong))


def asking_finds_mistakes():
    check(asked('sum by (job, le) (rate(consul_a_bucket{job="x", code!~"5.."}[5m])) > 0 and on (job) up == 1') ==
          [(None, {"job", "le"}), ("consul_a_bucket", {"job", "code"}), ("up", set())], "names in PromQL are found")


# ---- metrics with Consul's names

def writes_are_counted(leader, follower):
    before = leader.prometheus()
    session = json.loads(leader.ask("PUT", "/v1/session/create", {"TTL": "2s", "LockDelay": "1ms", "Checks": []})[1])["ID"]
    other = json.loads(leader.ask("PUT", "/v1/session/create", {"Checks": []})[1])["ID"]
    for method, path, body in [("PUT", "/v1/session/renew/" + session, None), ("PUT", "/v1/session/destroy/" + other, None),
                               ("PUT", "/v1/kv/metrics", b"x"), ("PUT", "/v1/txn", [{"KV": {"Verb": "set", "Key": "t", "Value": ""}}]),
                               ("PUT", "/v1/catalog/register", {"Node": "n", "Address": "10.9.9.9"}),
                               ("PUT", "/v1/catalog/deregister", {"Node": "n"})]:
        status, text = leader.ask(method, path, body)
        check(status == 200, f"{method} {path} {text if status != 200 else ''}")
    gone = "consul_session_ttl_invalidate_count"
    eventually("the session is ended by its TTL", lambda: leader.prometheus()[gone][""] == before[gone][""] + 1)
    after = leader.prometheus()
    for name, more in [("session_apply_count", 3), ("session_renew_count", 1), ("kvs_apply_count", 1), ("txn_apply_count", 1),
                       ("catalog_register_count", 1), ("catalog_deregister_count", 1)]:
        rise = after["consul_" + name][""] - before["consul_" + name][""]
        check(rise == more, f"consul_{name} rose by {rise:g}")
    eventually("the leader tells for how long its follower was silent", lambda: leader.prometheus()["consul_raft_leader_lastContact_count"][""] > 0)
    check(after["consul_raft_state_candidate"][""] >= 1, "the leader's candidacy was counted")
    check(follower.prometheus()["consul_raft_leader_lastContact_count"][""] == 0, "a follower tells nothing of that")


# ---- belay debug

def archive_has_no_secrets(binary, server, folder):
    created = json.loads(server.ask("PUT", "/v1/acl/token", {"Description": "made by the test"})[1])["SecretID"]
    gone = "5ec2e700-dead-4000-8000-000000000bad"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CONSUL_", "BELAY_"))}
    archive = folder / "handed-on"
    gathering = subprocess.Popen([binary, "debug", "-http-addr", server.address, "-token", MASTER, "-duration", "10s", "-interval", "5s",
                                  "-output", str(archive)], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    written = 0  # of the log, before the end: it is kept in no memory
    while gathering.poll() is None:
        written = max([written] + [log.stat().st_size for log in archive.glob("*/consul.log")])
        for secret in (created, MASTER, AGENT, gone):
            server.ask("GET", f"/v1/kv/a?token={secret}", token="")
            server.ask("GET", "/v1/acl/token/self", token=secret)
            server.ask("GET", f"/v1/acl/info/{secret}", token=secret)
        server.ask("PUT", "/v1/kv/value", b"value-that-is-secret")
        server.ask("PUT", f"/v1/agent/token/default", {"Token": AGENT})
        time.sleep(0.5)
    check(gathering.returncode == 0, "belay debug: " + gathering.stdout.read().decode())
    check(written > 0 and not archive.exists() and stat.S_IMODE(os.stat(f"{archive}.tar.gz").st_mode) == 0o600,
          "its log went to a file as it came, and only its owner may read the archive")
    names, told = [], False
    with tarfile.open(f"{archive}.tar.gz") as tar:
        for member in tar.getmembers():
            names.append(member.name)
            content = tar.extractfile(member).read().decode() if member.isfile() else ""
            told = told or "request finished" in content
            for what, secret in [("a token", created), ("the master token", MASTER), ("the agent's token", AGENT), ("a token nobody has", gone),
                                 ("the key between servers", KEY), ("a private key", "PRIVATE KEY"), ("a value", "value-that-is-secret"),
                                 ("a value", base64.b64encode(b"value-that-is-secret").decode())]:
                if secret in content:
                    where = content.index(secret)
                    raise SystemExit(f"NOT SO: {member.name} has {what}: ...{content[max(0, where - 200):where + 60]}...")
    check(told and any(n.endswith("agent.json") for n in names) and any(n.endswith("metrics.json") for n in names),
          f"an archive of {len(names)} files, with the requests of the time, has no secret in it")


# ---- -dev, tools/serve

def file_system_of(path):
    """Its type, as /proc/self/mountinfo has it."""
    device = os.stat(path).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split(" ")
        if fields[2] == wanted:
            return fields[fields.index("-") + 1]
    return "unknown"


def dev_is_in_memory(binary, folder):
    shared = pathlib.Path("/dev/shm")
    if not shared.is_dir() or file_system_of(shared) != "tmpfs" or os.statvfs(shared).f_bavail * os.statvfs(shared).f_bsize < 300 << 20:
        print("SKIPPED: -dev: no 300 MB of memory for files in /dev/shm here")
        return
    http, rpc = free_ports(2)
    server = Server(binary, ["-dev", "-http-port", str(http), "-server-port", str(rpc)], http, folder / "dev.log")
    eventually("a -dev server leads", lambda: server.ask("PUT", "/v1/kv/a", b"x" * 1000, token="")[1].strip() == "true")
    process = pathlib.Path(f"/proc/{server.process.pid}")
    written, mapped = [], []
    for fd in (process / "fd").iterdir():
        try:
            target, flags = os.readlink(fd), int(re.search(r"flags:\s*(\d+)", (process / "fdinfo" / fd.name).read_text())[1], 8)
            if int(fd.name) > 2 and target.startswith("/") and flags & os.O_ACCMODE != os.O_RDONLY and stat.S_ISREG(fd.stat().st_mode):
                written.append(target)
        except FileNotFoundError:
            pass  # closed meanwhile
    for line in (process / "maps").read_text().splitlines():
        mode, path = re.match(r"\S+ (\S+) .{3,}? +\d+ *(.*)$", line).groups()
        if mode.endswith("s") and path.startswith("/") and stat.S_ISREG(os.stat(path).st_mode):
            mapped.append(path)
    on_disk = [p for p in written + mapped if file_system_of(p) != "tmpfs"]
    check(written and not on_disk, f"-dev: the {len(written)} files that it writes are in memory {on_disk or ''}")
    data = {pathlib.Path(p).parts[3] for p in written}
    server.stop()
    check(not any((shared / d).exists() for d in data), "and are gone when it has ended")


def serve_names_the_busy_port(binary):
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        run = subprocess.run([ROOT / "tools/serve", "--demo", "--port", str(port)], env={**os.environ, "BELAY_BINARY": binary},
                             capture_output=True, text=True, timeout=60)
        check(run.returncode == 1 and f"port {port} of 127.0.0.1 cannot be used: Address already in use" in run.stderr and run.stdout == "",
              f"tools/serve on a busy port: {run.stderr.strip()}")


# ---- configurations in the documentation

def documented_configurations_are_valid(binary, folder):
    base = folder / "base.json"
    base.write_text(json.dumps({"data_dir": str(folder / "data"), "server": True}))
    named = folder / "named"  # the files that the pages name
    named.mkdir()
    for words in (["ca", "create"], ["cert", "create", "-server"]):
        subprocess.run([binary, "tls", *words], cwd=named, check=True, stdout=subprocess.DEVNULL)
    count = 0
    for page in sorted((ROOT / "docs").glob("[!c]*/*.md")):
        for language, body in re.findall(r"^```(hcl|json)\n(.*?)^```", page.read_text(), re.M | re.S):
            if language == "json" and '"created_at"' in body:
                continue  # a line of the audit log
            block = folder / f"block.{language}"
            block.write_text(body)
            run = subprocess.run([binary, "validate", str(base), str(block)], cwd=named, capture_output=True, text=True)
            if run.returncode != 0:
                raise SystemExit(f"NOT SO: {page.name}: {run.stdout}{run.stderr}{body}")
            block.unlink()
            count += 1
    check(count >= 6, f"{count} configurations in docs/*/*.md are valid")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="belay-operators-") as name:
        folder = pathlib.Path(name)
        asking_finds_mistakes()
        documented_configurations_are_valid(binary, folder)
        serve_names_the_busy_port(binary)
        dev_is_in_memory(binary, folder)
        subprocess.run([binary, "tls", "ca", "create"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([binary, "tls", "cert", "create", "-server"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        ports = free_ports(6)
        servers = []
        for i, node in enumerate("ab"):
            http, https, rpc = ports[3 * i:3 * i + 3]
            config = folder / f"{node}.json"
            config.write_text(json.dumps({
                "server": True, "bootstrap_expect": 2, "node_name": node, "data_dir": str(folder / node), "bind_addr": "127.0.0.1",
                "client_addr": "127.0.0.1", "ports": {"http": http, "https": https, "server": rpc, "serf_lan": -1, "serf_wan": -1, "dns": -1, "grpc": -1},
                "retry_join": [f"127.0.0.1:{ports[2]}", f"127.0.0.1:{ports[5]}"], "encrypt": KEY, "session_ttl_min": "1s",
                "cert_file": str(folder / "dc1-server-consul-0.pem"), "key_file": str(folder / "dc1-server-consul-0-key.pem"),
                "telemetry": {"prometheus_retention_time": "1m"}, "performance": {"raft_multiplier": 1},
                "acl": {"enabled": True, "default_policy": "deny", "tokens": {"master": MASTER, "agent": AGENT}}}))
            servers.append(Server(binary, ["-config-file", str(config)], http, folder / f"{node}.log", MASTER))
        leader = eventually("there is a leader", lambda: next((s for s in servers if s.leads()), None))
        follower = next(s for s in servers if s is not leader)
        eventually("what autopilot thinks", lambda: "consul_autopilot_healthy" in leader.prometheus())
        names_are_given(leader)
        writes_are_counted(leader, follower)
        archive_has_no_secrets(binary, leader, folder)
        for s in servers:
            s.stop()


if __name__ == "__main__":
    main()
