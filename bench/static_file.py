#!/usr/bin/env python3
"""A get compared with nginx and a file of the same bytes: nginx's processor time is the minimum for
an HTTP response on this machine.

usage: bench/static_file.py --binary build/release/belay --load build/release/load_generator --nginx /usr/sbin/nginx [--clients 64,256]

One server of each, one worker of nginx, no access log, one connection per client, one key of 256
bytes. Each round measures all of them in turn. The median of the ratios within a round counts.
"""

import argparse
import os
import signal
import subprocess
import time
import types
import urllib.request

import generator
from generator import figure, median
from servers import cluster, free_ports, scratch

KEY = "bench/k00000000"  # the one that the generator writes and reads
CONFIG = """daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  open_file_cache max=10;
  server {{ listen 127.0.0.1:{port}; root {folder}; default_type application/json;
    add_header X-Consul-Index 1; location / {{ try_files /answer =404; }} }} }}
"""


class StaticServer:
    """What generator.run needs from a server. The worker stands for it, because it does all the
    work."""

    protocol = "consul"

    def __init__(self, nginx, folder, body):
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o755)
        with open(os.path.join(folder, "answer"), "wb") as file:
            file.write(body)
        (self.http_port,) = free_ports(1)
        config = os.path.join(folder, "nginx.conf")
        with open(config, "w") as file:
            file.write(("user root;\n" if os.geteuid() == 0 else "") + CONFIG.format(folder=folder, port=self.http_port))
        self.master = subprocess.Popen([nginx, "-p", folder, "-c", config, "-e", os.path.join(folder, "error.log")])
        end = time.monotonic() + 10
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/v1/kv/{KEY}", timeout=1).read()
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        with open(f"/proc/{self.master.pid}/task/{self.master.pid}/children") as children:
            self.process = types.SimpleNamespace(pid=int(children.read().split()[0]), poll=self.master.poll)

    def raft(self):
        return {"state": "Leader"}

    def stop(self):
        self.master.send_signal(signal.SIGTERM)
        self.master.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    generator.add_arguments(parser)
    parser.add_argument("--nginx", default="nginx", help="the nginx program (default: the one on PATH)")
    parser.add_argument("--clients", default="64,256")
    options = parser.parse_args()
    clients = [int(c) for c in options.clients.split(",")]
    rows = [("nginx", "stale"), ("R2", "stale"), ("RD", "default")]
    results = {}
    with scratch(options.folder, "static-file") as (folder, servers):
        servers += cluster(options.binary, folder, 1, {"limits": {"http_max_conns_per_client": 2 * max(clients)}})
        generator.fill(options.load, servers, 1)
        body = servers[0].ask("GET", f"/v1/kv/{KEY}?stale")[1]
        static = StaticServer(options.nginx, os.path.join(folder, "nginx"), body)
        try:
            for _ in range(options.rounds):
                for count in clients:
                    for row, read in rows:
                        of = [static] if row == "nginx" else servers
                        run = generator.run(options.load, of, "get", clients=count, keys=1, read=read, seconds=options.seconds)
                        if run["wrong"]:
                            raise SystemExit(f"{row}, {count} clients: {run}")
                        results.setdefault((row, count), []).append(run)
        finally:
            static.stop()
    print(f"{len(body)} bytes, {options.rounds} rounds\n\n| clients | | ops/s | p50 us | p99 us | server CPU us/op | of nginx's |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    for count in clients:
        for row, _ in rows:
            runs = results[row, count]
            ratios = [{"r": mine["srv_us_op"] / its["srv_us_op"]} for mine, its in zip(runs, results["nginx", count])]
            cells = [median(runs, "ops_s"), median(runs, "lat_us.p50"), median(runs, "lat_us.p99"), median(runs, "srv_us_op"), median(ratios, "r")]
            print(f"| {count} | {row} | " + " | ".join(figure(c) for c in cells) + " |")


main()
