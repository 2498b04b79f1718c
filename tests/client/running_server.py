"""One server of Belay for a script."""
import contextlib
import json
import socket
import subprocess
import time
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running_server(program, folder):
    """@returns its URL, when it answers"""
    http, server = free_port(), free_port()
    config = folder / "server.json"
    config.write_text(json.dumps({
        "node_name": "one", "server": True, "bootstrap_expect": 1, "data_dir": str(folder / "data"), "bind_addr": "127.0.0.1",
        "session_ttl_min": "1s", "log_level": "err", "performance": {"raft_multiplier": 1},
        "ports": {"http": http, "server": server, "dns": -1, "grpc": -1, "https": -1, "serf_wan": -1}}))
    process = subprocess.Popen([program, "agent", "-config-file", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{http}"
    try:
        for attempt in range(200):
            try:
                request = urllib.request.Request(f"{url}/v1/kv/ready", data=b"1", method="PUT")
                with urllib.request.urlopen(request, timeout=2) as answer:
                    if answer.read().startswith(b"true"):
                        break
            except OSError:
                pass
            time.sleep(0.1)
        else:
            raise SystemExit("the server does not become ready")
        yield url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
