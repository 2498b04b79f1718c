"""Commands of the program, run against one server."""
import ctypes
import os
import signal
import subprocess
import sys
import time
import urllib.request

limit = 60  # seconds until a wait counts as failed


def check(holds, text):
    if not holds:
        sys.exit(text)


def die_with_parent():
    """Nothing that goes on by itself is left when a check fails."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class node:
    """Commands and requests to one server."""

    def __init__(self, belay, url, folder):
        self.belay, self.url, self.folder = belay, url, folder
        self.environment = {**os.environ, "CONSUL_HTTP_ADDR": url}

    def ask(self, method, path, body=b""):
        request = urllib.request.Request(self.url + path, data=body if method != "GET" else None, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    def start(self, *words):
        return subprocess.Popen([self.belay, *words], env=self.environment, text=True, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=die_with_parent)

    def said(self, *words, code=0):
        done = subprocess.run([self.belay, *words], env=self.environment, text=True, cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=limit)
        check(done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def text(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def wait(self, what, holds):
        end = time.monotonic() + limit
        while not holds():
            check(time.monotonic() < end, f"never: {what}")
            time.sleep(0.02)


def ended(process, code):
    out, err = process.communicate(timeout=limit)
    check(process.returncode == code, f"{process.args}: exit {process.returncode}\n{out}{err}")
