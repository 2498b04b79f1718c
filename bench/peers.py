"""Consul, etcd and ZooKeeper as servers of a measurement, as durable as Belay: each acknowledges
what is on disk, by default."""

import json
import os
import re
import shutil
import socket
import sys
import time

from servers import Server, free_ports, started


class Consul(Server):
    def syncs(self):
        return None


def consul(binary, folder, count):
    ports = [free_ports(4 * count)[4 * i : 4 * i + 4] for i in range(count)]
    servers = []
    for i, (http, server, lan, wan) in enumerate(ports):
        config = {
            "bootstrap_expect": count,
            "retry_join": [f"127.0.0.1:{lan}" for _, _, lan, _ in ports],
            "retry_interval": "1s",
            "advertise_addr": "127.0.0.1",
            "disable_update_check": True,
            "log_level": "WARN",
            # 200 and 100 by default; every watcher has a connection. Consul does not start if that
            # exceeds its limit of open files.
            "limits": {"http_max_conns_per_client": 3000, "rpc_max_conns_per_client": 3000},
            "ports": {"http": http, "server": server, "serf_lan": lan, "serf_wan": wan, "dns": -1, "grpc": -1, "https": -1},
        }
        servers.append(Consul(binary, os.path.join(folder, f"n{i + 1}"), f"n{i + 1}", http, server, config))
    return started(servers)


class Etcd(Server):
    protocol = "etcd"

    def settings(self):
        client, peer = (f"http://127.0.0.1:{port}" for port in (self.http_port, self.server_port))
        return {
            "name": self.name,
            "data-dir": os.path.join(self.data, "etcd"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster-state": "new",
            "quota-backend-bytes": 8 << 30,
            "enable-grpc-gateway": True,  # off by default in etcd 3.4 with a configuration file
            "logger": "zap",
            "log-level": "error",
        }

    def command(self):
        return [self.binary, "--config-file", self.config]

    def raft(self):
        try:
            status, body = self.ask("POST", "/v3/maintenance/status", b"{}", limit=5)
        except OSError:
            return None
        state = json.loads(body) if status == 200 else {}
        if not state.get("leader"):
            return None
        return {"state": "Leader" if state["header"]["member_id"] == state["leader"] else "Follower"}

    def committed(self):
        status, body = self.ask("POST", "/v3/maintenance/status", b"{}", limit=5)
        return int(json.loads(body)["raftIndex"]) if status == 200 else None

    def syncs(self):
        return self.metric("/metrics", "etcd_disk_wal_fsync_duration_seconds_count")

    def settle(self):
        """etcd 3.4 copies its read buffer at each read. The buffer stays as large as the last burst
        of puts until there have been two commits (one per 100 ms) without a put. Grants of
        leases are such commits."""
        for _ in range(3):
            self.ask("POST", "/v3/lease/grant", b'{"TTL": 20}')
            time.sleep(0.15)


def etcd(binary, folder, count):
    ports = free_ports(2 * count)
    members = ",".join(f"n{i + 1}=http://127.0.0.1:{ports[count + i]}" for i in range(count))
    config = {"initial-cluster": members}
    return started(Etcd(binary, os.path.join(folder, f"n{i + 1}"), f"n{i + 1}", ports[i], ports[count + i], config) for i in range(count))


class Zookeeper(Server):
    """`binary` is its zookeeper.jar; the libraries are next to it, or where Debian has them."""

    protocol = "zookeeper"
    LIBRARIES = (
        "zookeeper-jute slf4j-api slf4j-log4j12 log4j-1.2 netty-all metrics-core snappy-java commons-cli jackson-core jackson-databind jackson-annotations"
    ).split()

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.number_data()

    def settings(self):
        return {
            "tickTime": 2000,
            "initLimit": 10,
            "syncLimit": 5,
            "dataDir": self.data,
            "clientPort": self.http_port,
            "clientPortAddress": "127.0.0.1",
            "maxClientCnxns": 0,  # 60 by default; every client has a connection of its own
            "maxSessionTimeout": 600000,  # 40 s by default; a lock row's waiters send nothing for longer
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "srvr,mntr",
        }

    def write_config(self, config):
        with open(self.config, "w") as out:
            out.writelines(f"{name}={value}\n" for name, value in config.items())
        with open(os.path.join(self.folder, "log4j.properties"), "w") as out:
            out.write("log4j.rootLogger=WARN, C\nlog4j.appender.C=org.apache.log4j.ConsoleAppender\n")
            out.write("log4j.appender.C.layout=org.apache.log4j.PatternLayout\nlog4j.appender.C.layout.ConversionPattern=%d %p %c %m%n\n")

    def number_data(self):
        with open(os.path.join(self.data, "myid"), "w") as out:
            out.write(self.name.lstrip("n") + "\n")

    def wipe(self):
        super().wipe()
        self.number_data()

    def command(self):
        folders = [os.path.dirname(os.path.abspath(self.binary)), "/usr/share/java"]
        candidates = [os.path.join(folder, name + ".jar") for name in self.LIBRARIES for folder in folders]
        jars = [os.path.abspath(self.binary)] + [path for path in candidates if os.path.exists(path)]
        logging = "-Dlog4j.configuration=file:" + os.path.abspath(os.path.join(self.folder, "log4j.properties"))
        heap = ["-Xms512m", "-Xmx4g"]
        return ["java", *heap, logging, "-Dzookeeper.jmx.log4j.disable=true", "-cp", ":".join(jars)] + [
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            self.config,
        ]

    def say(self, word):
        """The response to a four-letter command; empty: there is none."""
        answer = b""
        try:
            with socket.create_connection(("127.0.0.1", self.http_port), 5) as connection:
                connection.sendall(word.encode())
                while more := connection.recv(1 << 16):
                    answer += more
        except OSError:
            return ""
        return answer.decode(errors="replace")

    def raft(self):
        mode = re.search(r"^Mode: (\w+)$", self.say("srvr"), re.MULTILINE)
        return {"state": {"standalone": "Leader"}.get(mode[1], mode[1].capitalize())} if mode else None

    def committed(self):
        zxid = re.search(r"^Zxid: (0x[0-9a-f]+)$", self.say("srvr"), re.MULTILINE)
        return int(zxid[1], 16) if zxid else None

    def syncs(self):
        found = re.search(r"^zk_cnt_fsynctime\s+(\d+)$", self.say("mntr"), re.MULTILINE)
        return int(found[1]) if found else None


def zookeeper(jar, folder, count):
    ports = free_ports(3 * count)
    config = {}
    if count > 1:
        config = {f"server.{i + 1}": f"127.0.0.1:{ports[count + i]}:{ports[2 * count + i]}" for i in range(count)}
    return started(Zookeeper(jar, os.path.join(folder, f"n{i + 1}"), f"n{i + 1}", ports[i], ports[count + i], config) for i in range(count))


# name: (default program, programs that must be allowed with it, function that starts its servers)
STORES = {
    "etcd": (shutil.which("etcd"), os.X_OK, etcd),
    "consul": (shutil.which("consul"), os.X_OK, consul),
    "zookeeper": ("/usr/share/java/zookeeper.jar", os.R_OK, zookeeper),
}


def add_arguments(parser, names=tuple(STORES)):
    """An option for each of the stores: --etcd PROGRAM."""
    for name in names:
        what = "its zookeeper.jar (default: Debian's); needs java on PATH" if name == "zookeeper" else f"the {name} program (default: the one on PATH)"
        parser.add_argument(f"--{name}", default=STORES[name][0], help=what)


def present(options, count, names=tuple(STORES)):
    """The stores that are installed; reports the others on stderr. @returns {name: starts `count`
    servers of it in a folder}"""
    starts = {}
    for name in names:
        program, (_, needed, start) = getattr(options, name), STORES[name]
        if program and os.access(program, needed) and (name != "zookeeper" or shutil.which("java")):
            starts[name] = lambda folder, start=start, program=program: start(program, folder, count)
        else:
            print(f"{name} is not there: left out", file=sys.stderr)
    return starts
