"""Consul and etcd as servers of a measurement, as durable as Belay: each acknowledges what is on disk, by default."""

import json
import os
import time

from servers import Server, free_ports, started


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
            # 200 and 100 by default; a watcher has a connection of its own. Consul does not start with more than it may open files.
            "limits": {"http_max_conns_per_client": 3000, "rpc_max_conns_per_client": 3000},
            "ports": {"http": http, "server": server, "serf_lan": lan, "serf_wan": wan, "dns": -1, "grpc": -1, "https": -1},
        }
        servers.append(Server(binary, os.path.join(folder, f"n{i + 1}"), f"n{i + 1}", http, server, config))
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

    def settle(self):
        """etcd 3.4 copies its read buffer at each read, which stays as large as the last burst of puts until there have been two
        commits (one each 100 ms) without a put. Grants of leases are such commits."""
        for _ in range(3):
            self.ask("POST", "/v3/lease/grant", b'{"TTL": 20}')
            time.sleep(0.15)


def etcd(binary, folder, count):
    ports = free_ports(2 * count)
    members = ",".join(f"n{i + 1}=http://127.0.0.1:{ports[count + i]}" for i in range(count))
    config = {"initial-cluster": members}
    return started(Etcd(binary, os.path.join(folder, f"n{i + 1}"), f"n{i + 1}", ports[i], ports[count + i], config) for i in range(count))
