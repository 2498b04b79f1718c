"""Stands in for Docker's Python client in the tests of py-consul: a container is a process of CONSUL_PROGRAM."""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request


class Container:
    def __init__(self, ports, environment):
        config = json.loads(environment["CONSUL_LOCAL_CONFIG"])
        config["ports"].pop("grpc_tls")  # of Consul 1.14 and later
        tokens = config.get("acl", {}).get("tokens", {})
        if "initial_management" in tokens:  # its name since 1.11
            tokens["master"] = tokens.pop("initial_management")
        for name, port in {"http": 8500, "server": 8300, "grpc": 8502, "serf_lan": 8301, "serf_wan": 8302}.items():
            config["ports"][name] = ports[port]
        config["bind_addr"] = "127.0.0.1"
        self.folder = pathlib.Path(tempfile.mkdtemp())
        (self.folder / "config.json").write_text(json.dumps(config))
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen([os.environ["CONSUL_PROGRAM"], "agent", "-dev", "-config-file", str(self.folder / "config.json")], cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL))
        end = time.monotonic() + 60
        while not self.registered(ports[8500]) and time.monotonic() < end:
            time.sleep(0.05)

    @staticmethod
    def registered(port):
        """Whether the node has its check. The tests take that for given, which a container is slow enough for."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/health/state/any", timeout=10) as answer:
                return b"serfHealth" in answer.read()
        except OSError:
            return False

    def logs(self):
        return (self.folder / "log").read_bytes().decode(errors="replace").encode()

    def stop(self):
        self.process.kill()
        self.process.wait()

    def remove(self, force=False):
        self.stop()
        shutil.rmtree(self.folder)


class DockerClient:
    class containers:
        @staticmethod
        def run(_image, command, ports, environment, detach, name):
            return Container(ports, environment)


def from_env():
    return DockerClient
