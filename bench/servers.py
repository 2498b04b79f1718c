"""Servers of a measurement: child processes on 127.0.0.1 with a scratch data directory each."""

import contextlib
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time


def free_ports(count):
    """Ports that are free now. They are below the kernel's range for outgoing connections, so that
    clients' connections cannot take them while a server is down."""
    found, candidate = [], 20000 + os.getpid() % 5000
    while len(found) < count:
        candidate += 1
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", candidate))
            except OSError:
                continue
        found.append(candidate)
    return found


def allow_open_files(wanted):
    """Raises the limit of open files of this process and its children. Returns the limit, which is
    lower if the system rejects it."""
    soft, hard = (float("inf") if n == resource.RLIM_INFINITY else n for n in resource.getrlimit(resource.RLIMIT_NOFILE))
    if soft >= wanted:
        return soft
    if hard >= wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        return wanted
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
        return wanted
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return hard


class Server:
    """A Belay server. Consul's differ only in `config` (peers.py)."""

    protocol = "consul"  # the load generator's name for its API

    def __init__(self, binary, folder, name, http_port, server_port, config, https_port=None):
        self.binary, self.folder, self.name, self.http_port, self.server_port = binary, folder, name, http_port, server_port
        self.https_port = https_port
        self.token = config.get("acl", {}).get("tokens", {}).get("master")  # for the requests of ask()
        self.data, self.log = os.path.join(folder, "data"), os.path.join(folder, "log.txt")
        self.process = None
        os.makedirs(self.data, exist_ok=True)
        self.config = os.path.join(folder, "config.json")
        self.write_config({**self.settings(), **config})

    def write_config(self, config):
        with open(self.config, "w") as out:
            json.dump(config, out)

    def settings(self):
        return {
            "server": True,
            "node_name": self.name,
            "data_dir": self.data,
            "bind_addr": "127.0.0.1",
            "client_addr": "127.0.0.1",
            "ports": {"http": self.http_port, "server": self.server_port, "https": self.https_port or -1},
            "performance": {"raft_multiplier": 1},
        }

    def command(self):
        return [self.binary, "agent", "-config-file", self.config]

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self, how=signal.SIGTERM):
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def wipe(self):
        shutil.rmtree(self.data)
        os.makedirs(self.data)

    def ask(self, method, target, body=b"", limit=30):
        """Status and body, over a connection of its own. OSError: no response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=limit)
        try:
            connection.request(method, target, body, {"X-Consul-Token": self.token} if self.token else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except http.client.HTTPException as error:
            raise OSError(f"no whole answer: {error!r}") from error
        finally:
            connection.close()

    def raft(self):
        """The server's own metrics, numbers as numbers; None: no response."""
        try:
            status, body = self.ask("GET", "/v1/agent/self", limit=5)
        except OSError:
            return None
        if status != 200:
            return None
        return {k: int(v) if v.isdigit() and k != "state_digest" else v for k, v in json.loads(body)["Stats"]["raft"].items()}

    def committed(self):
        """The number of entries, plus a constant; None: unknown."""
        raft = self.raft()
        return raft and raft.get("commit_index")

    def syncs(self):
        """How often this server synced its log since its start; None: unknown. Belay reports it
        with a `prometheus_retention_time`."""
        return self.metric("/v1/agent/metrics?format=prometheus", "consul_raft_fsync_seconds_count")

    def metric(self, target, name):
        """The number after a name at the beginning of a line; None: there is none."""
        try:
            status, body = self.ask("GET", target, limit=5)
        except OSError:
            return None
        found = re.search(rf"^{name}(?:\{{.*\}})? ([0-9.e+]+)$", body.decode(errors="replace"), re.MULTILINE)
        return float(found[1]) if status == 200 and found else None

    def memory(self):
        """Resident bytes: private, and of mapped files (the checkpoint), which the system can
        reclaim."""
        fields = {}
        with open(f"/proc/{self.process.pid}/status") as status:
            for line in status:
                name, _, value = line.partition(":")
                if name in ("RssAnon", "RssFile"):
                    fields[name] = int(value.split()[0]) * 1024
        return fields["RssAnon"], fields["RssFile"]

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def log_lines(self, text):
        with open(self.log, errors="replace") as lines:
            return [line.rstrip() for line in lines if text in line]


def cluster(binary, folder, count, config, https=False):
    """Belay servers that are started and have a leader. With `https`, which needs a certificate in
    `config`, also on an HTTPS port."""
    ports = free_ports(3 * count)
    joins = [f"127.0.0.1:{p}" for p in ports[count : 2 * count]]
    common = {"bootstrap": True} if count == 1 else {"bootstrap_expect": count, "retry_join": joins, "retry_interval": "1s"}
    config = {**common, **config}
    names = [f"n{i + 1}" for i in range(count)]
    return started(
        Server(binary, os.path.join(folder, name), name, ports[i], ports[count + i], config, ports[2 * count + i] if https else None)
        for i, name in enumerate(names)
    )


@contextlib.contextmanager
def scratch(below, name, keep=False):
    """A folder for data, and a list of the servers that use it. Stops them at the end, and removes
    the folder."""
    folder, servers = tempfile.mkdtemp(prefix=name + ".", dir=below), []
    try:
        yield folder, servers
    finally:
        for server in servers:
            server.stop()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def started(servers):
    """The same servers, once they have a leader. Stops them all if they do not."""
    servers = list(servers)
    try:
        for server in servers:
            server.start()
        leader_of(servers)
    except BaseException:
        for server in servers:
            server.stop()
        raise
    return servers


def leader_of(servers, limit=60):
    """The leader, once all running servers follow it."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        for server in servers:
            if server.process.poll() is not None:
                raise SystemExit(f"{server.name} has ended with status {server.process.returncode}: " + " ".join(server.log_lines("")[-5:]))
        states = [s.raft() for s in servers]
        leaders = [s for s, r in zip(servers, states) if r and r["state"] == "Leader"]
        if len(leaders) == 1 and all(r and r["state"] in ("Leader", "Follower") for r in states):
            return leaders[0]
        time.sleep(0.1)
    raise SystemExit("no leader within %d s" % limit)


def bytes_on_disk(folder):
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(path, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total
