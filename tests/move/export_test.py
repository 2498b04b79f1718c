#!/usr/bin/env python3
"""Takes keys out of etcd and ZooKeeper with tools/export-keys, and puts them into Belay.

usage: export_test.py BELAY [--etcd PROGRAM] [--zookeeper FOLDER-OF-JARS]

Without the options the sources are imitations below, which know the requests that are made here. With them the same story is told to the
real programs. It fills them, exports, imports, and compares what Belay exports with what was put in; what is left out has to be named.
"""
import argparse
import base64
import concurrent.futures
import http.server
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from move_test import MASTER, ROOT, Server, check, die_with_parent, free_ports

TOOL = ROOT / "tools/export-keys"
loader = importlib.machinery.SourceFileLoader("export_keys", str(TOOL))
export_keys = importlib.util.module_from_spec(importlib.util.spec_from_loader("export_keys", loader))
loader.exec_module(export_keys)

SMALL = {f"app/{i:04}": f"value {i}".encode() for i in range(1200)}  # more than a page
LARGE = {f"large/{i:02}": bytes([i]) * 500_000 for i in range(12)}   # a page of them is more than a gateway answers
ODD = {"empty": b"", "binary": bytes(range(256)), "ö <&>'\" \\ %2f": b"odd", "a//b/": b"slashes", "plain": b"text"}


def encoded(data):
    return base64.b64encode(data).decode()


# ---- etcd


class FakeEtcd:
    """Keys, leases and ranges of the JSON gateway, as etcd 3.4.23 answers them."""
    ANSWER_MAX = 4 << 20

    def __init__(self):
        self.keys, self.revision = {}, 1
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                status, answer = outer.answer(self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 64

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, asked):
        header = {"revision": str(self.revision)}
        if path == "/v3/lease/grant":
            return 200, {"header": header, "ID": "7587870000000000001", "TTL": str(asked["TTL"])}
        key = base64.b64decode(asked["key"])
        if path == "/v3/kv/put":
            self.revision += 1
            self.keys[key] = {"key": asked["key"], "mod_revision": str(self.revision)}
            self.keys[key].update({name: asked[name] for name in ("value", "lease") if asked.get(name)})
            return 200, {"header": header}
        end = base64.b64decode(asked["range_end"])
        found = [self.keys[k] for k in sorted(self.keys) if k >= key and (end == b"\0" or k < end)]
        page = found[:int(asked["limit"])]
        size = sum(len(base64.b64decode(kv.get("value", ""))) for kv in page)
        if size > self.ANSWER_MAX:
            message = f"grpc: received message larger than max ({size} vs. {self.ANSWER_MAX})"
            return 429, {"error": message, "message": message, "code": 8}
        return 200, {"header": header, "kvs": page, "count": str(len(found)), **({"more": True} if len(page) < len(found) else {})}

    def stop(self):
        self.server.shutdown()


class RealEtcd:
    def __init__(self, program, folder):
        client, peer = free_ports(2)
        self.address, peers = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        self.process = start([program, "--data-dir", str(folder / "etcd"), "--listen-client-urls", self.address, "--advertise-client-urls", self.address,
                              "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}",
                              "--logger", "zap", "--log-level", "error"], folder / "etcd.log")
        wait_for(lambda: etcd_ask(self, "/v3/kv/range", {"key": "AA=="}), self.process)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def etcd_ask(etcd, path, body):
    request = urllib.request.Request(etcd.address + path, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def fill_etcd(etcd):
    def put(key, value, **more):
        etcd_ask(etcd, "/v3/kv/put", {"key": encoded(key), "value": encoded(value), **more})
    with concurrent.futures.ThreadPoolExecutor(16) as pool:  # etcd syncs several puts at once
        for done in [pool.submit(put, ("/" + key if key.startswith("app/") else key).encode(), value)
                     for key, value in {**SMALL, **LARGE, **ODD}.items()]:
            done.result()
    put(b"/plain", b"the same without its slash")
    put(b"\xff\xfe", b"no text")
    put(b"too-large", b"x" * 600_000)
    put(b"held", b"by a program", lease=etcd_ask(etcd, "/v3/lease/grant", {"TTL": 600})["ID"])


# ---- ZooKeeper


class FakeZooKeeper:
    """Nodes, as ZooKeeper 3.8.0 answers for them."""

    def __init__(self):
        self.nodes = {"/": (b"", 0), "/zookeeper": (b"", 0), "/zookeeper/quota": (b"", 0)}
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self):
                self.frame()
                self.answer(struct.pack(">iiq", 0, 30000, 77) + export_keys.buffer(b"p" * 16) + b"\0")
                while True:
                    request = self.frame()
                    if not request:
                        return
                    (xid, kind), body = struct.unpack(">ii", request[:8]), request[8:]
                    error, answer = outer.answer(kind, body)
                    self.answer(struct.pack(">iqi", xid, 1, error) + answer)
                    if kind == export_keys.ZooKeeper.CLOSE:
                        return

            def frame(self):
                length = self.rfile.read(4)
                return self.rfile.read(struct.unpack(">i", length)[0]) if length else b""

            def answer(self, body):
                self.wfile.write(export_keys.buffer(body))

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, kind, body):
        tool = export_keys.ZooKeeper
        if kind == tool.CLOSE:
            return 0, b""
        size = struct.unpack(">i", body[:4])[0]
        path, rest = body[4:4 + size].decode(), body[4 + size:]
        if kind == CREATE:
            length = struct.unpack(">i", rest[:4])[0]
            flags = struct.unpack(">i", rest[-4:])[0]
            self.nodes[path] = (rest[4:4 + max(length, 0)], 77 if flags & 1 else 0)
            return 0, export_keys.buffer(path.encode())
        if path not in self.nodes:
            return tool.NO_NODE, b""
        value, owner = self.nodes[path]
        below = path.rstrip("/") + "/"
        children = sorted(p[len(below):] for p in self.nodes if p.startswith(below) and p != path and "/" not in p[len(below):])
        if kind == tool.GET_DATA:
            data = export_keys.buffer(value) if value else struct.pack(">i", -1)
            return 0, data + tool.STAT.pack(1, 1, 0, 0, 0, 0, 0, owner, len(value), len(children), 1)
        return 0, struct.pack(">i", len(children)) + b"".join(export_keys.buffer(c.encode()) for c in children)

    def stop(self):
        self.server.shutdown()


CREATE = 1


class RealZooKeeper:
    def __init__(self, jars, folder):
        port, = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        # What it loads; the folder has more than one binding of slf4j.
        names = ("zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple", "netty-all", "metrics-core", "snappy-java", "commons-cli",
                 "jackson-core", "jackson-databind", "jackson-annotations")
        class_path = ":".join(f"{jars}/{name}.jar" for name in names)
        (folder / "zoo.cfg").write_text(f"tickTime=2000\ndataDir={folder / 'zookeeper'}\nclientPort={port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n")
        self.process = start(["java", "-Xmx512m", "-Dzookeeper.jmx.log4j.disable=true", "-cp", class_path,
                              "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(folder / "zoo.cfg")], folder / "zookeeper.log")
        wait_for(lambda: export_keys.ZooKeeper(self.address, None), self.process)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def fill_zookeeper(zookeeper):
    """@returns the connection that owns the ephemeral node."""
    client = export_keys.ZooKeeper(zookeeper.address, None)

    made = []

    def create(path, value, flags=0):
        """Asks; the answers are read at the end, so that ZooKeeper syncs several at once."""
        acl = struct.pack(">ii", 1, 31) + export_keys.buffer(b"world") + export_keys.buffer(b"anyone")
        body = export_keys.buffer(path.encode()) + export_keys.buffer(value) + acl + struct.pack(">i", flags)
        made.append(path)
        client.send(struct.pack(">ii", len(made), CREATE) + body)
    for parent in ("/app", "/large"):
        create(parent, b"")
    for key, value in {**SMALL, **LARGE, **ODD}.items():
        if "//" not in key:  # no path there
            create("/" + key, value)
    create("/both", b"has a value")
    create("/both/below", b"and a child")
    create("/too-large", b"x" * 600_000)
    create("/held", b"by a program", 1)
    for path in made:
        check(f"{path} is made", struct.unpack(">iqi", client.receive()[:16])[2] == 0)
    return client


# ---- the story


def start(command, log):
    with open(log, "wb") as out:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, preexec_fn=die_with_parent)


def wait_for(works, process):
    end = time.monotonic() + 60
    while True:
        try:
            return works()
        except (OSError, export_keys.Stop):
            if time.monotonic() > end or process.poll() is not None:
                sys.exit("the source did not come up")
            time.sleep(0.2)


def export(kind, source, *options, code):
    done = subprocess.run([sys.executable, str(TOOL), kind, source.address, *options], capture_output=True, text=True, timeout=120)
    print(f"$ export-keys {kind} {' '.join(options)}: {done.returncode}\n{done.stderr}", end="")
    check(f"it ends with {code}", done.returncode == code)
    return done.stdout, done.stderr


def belay(binary, server, *command, text=None):
    done = subprocess.run([binary, *command], input=text, capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, CONSUL_HTTP_ADDR=server.address, CONSUL_HTTP_TOKEN=MASTER))
    check(f"belay {' '.join(command)} is done: {done.stderr}", done.returncode == 0)
    return done.stdout


def story(kind, source, binary, server, wanted, left_out):
    server.ask("DELETE", "/v1/kv/?recurse")
    text, said = export(kind, source, code=1)
    named = sorted(line.split(": ")[0][len("NOT EXPORTED "):].lstrip("/") for line in said.splitlines() if line.startswith("NOT EXPORTED"))
    check(f"what is left out is named: {named}", named == sorted(left_out))
    belay(binary, server, "kv", "import", "-", text=text)
    there = {key: value for key, (value, _) in server.keys().items()}
    check("all keys and values are there, and no others", there == wanted)
    check("belay kv export prints what was imported", belay(binary, server, "kv", "export") == text)

    text, said = export(kind, source, "--prefix", "/app", "--to", "imported/", code=0)
    belay(binary, server, "kv", "import", "-", text=text)
    there = {key: value for key, (value, _) in server.keys().items() if key.startswith("imported/")}
    check("a prefix comes to another place", there == {"imported/" + key: value for key, value in SMALL.items()})
    text, said = export(kind, source, "--prefix", "/held" if kind == "zookeeper" else "held", "--ephemeral", code=0)
    check("--ephemeral brings what belongs to a program", [row["key"] for row in json.loads(text)] == ["held"])
    print(f"{kind}: {len(wanted)} keys as they should be, {len(left_out)} left out")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0])
    parser.add_argument("belay")
    parser.add_argument("--etcd")
    parser.add_argument("--zookeeper")
    options = parser.parse_args()
    binary = os.environ.get("BELAY_BINARY") or options.belay
    with tempfile.TemporaryDirectory(prefix="belay-export-") as folder:
        folder = pathlib.Path(folder)
        running = [Server(binary, "new", folder)]
        try:
            all_keys = {**SMALL, **LARGE, **ODD}
            if options.etcd or not options.zookeeper:
                etcd = RealEtcd(options.etcd, folder) if options.etcd else FakeEtcd()
                running.append(etcd)
                fill_etcd(etcd)
                wanted = {**all_keys, "plain": b"the same without its slash"}  # /plain comes first
                story("etcd", etcd, binary, running[0], wanted, ["plain", "\\xff\\xfe", "too-large", "held"])
            if options.zookeeper or not options.etcd:
                zookeeper = RealZooKeeper(options.zookeeper, folder) if options.zookeeper else FakeZooKeeper()
                running.append(zookeeper)
                owner = fill_zookeeper(zookeeper)
                wanted = {key: value for key, value in all_keys.items() if "//" not in key}
                wanted.update({"both": b"has a value", "both/below": b"and a child"})
                story("zookeeper", zookeeper, binary, running[0], wanted, ["too-large", "held"])
                owner.socket.close()
        finally:
            for server in running:
                server.stop()
    print("all as it should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
