"""Servers that the tests of this folder start: free ports, processes, requests."""
import ctypes
import json
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def eventually(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            value = condition()
        except OSError:
            value = None
        if value:
            return value
        if time.monotonic() > end:
            raise SystemExit(f"not so within {seconds} s: {what}")
        time.sleep(0.1)


def check(ok, what):
    if not ok:
        raise SystemExit(f"NOT SO: {what}")
    print(f"ok: {what}", flush=True)


class Server:
    """@param token for requests that name none"""

    def __init__(self, binary, arguments, http, log, token=""):
        self.address, self.log, self.token = f"http://127.0.0.1:{http}", log, token
        with open(log, "ab") as out:
            self.process = subprocess.Popen([binary, "agent", *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                            preexec_fn=die_with_parent)

    def ask(self, method, path, body=None, token=None):
        token = self.token if token is None else token
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"X-Consul-Token": token} if token else {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()

    def leads(self):
        if self.process.poll() is not None:
            raise SystemExit(self.log.read_text(errors="replace")[-3000:])
        status, body = self.ask("GET", "/v1/agent/self")
        return status == 200 and json.loads(body)["Stats"]["consul"]["leader"] == "true"

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def prometheus(self):
        """name -> {labels as text -> value}"""
        status, text = self.ask("GET", "/v1/agent/metrics?format=prometheus")
        if status != 200:
            raise SystemExit(f"metrics: {status} {text}")
        found = {}
        for line in text.splitlines():
            shown = re.match(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)$", line)
            if shown:
                found.setdefault(shown[1], {})[shown[2] or ""] = float(shown[3])
            elif not line.startswith("#"):
                raise SystemExit(f"no line of Prometheus: {line}")
        return found
