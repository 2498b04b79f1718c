#!/usr/bin/env python3
"""More requests than a server can answer: which are rejected, and do sessions and locks survive?
See README.md."""

import argparse
import base64
import json
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import time

from connection import Connection, request, whole_answer
from servers import allow_open_files, cluster, scratch

TTL = 10  # seconds; the shortest TTL of a session


class Puts:
    """Many connections that send puts, and count the responses. Pipelines requests, without
    waiting."""

    def __init__(self, port, connections, value_bytes):
        self.data = [request("PUT", f"/v1/kv/load/{i}", b"v" * value_bytes) for i in range(connections)]
        self.sockets, self.unsent, self.tails = [], [b""] * connections, [b""] * connections
        self.poll, self.places = select.poll(), {}
        for i in range(connections):
            s = socket.create_connection(("127.0.0.1", port), 30)
            s.setblocking(False)
            self.sockets.append(s)
            self.places[s.fileno()] = i
            self.poll.register(s, select.POLLIN)
        self.sent, self.done, self.refused = 0, 0, 0
        self.next = 0

    def unanswered(self):
        return self.sent - self.done - self.refused

    def send(self, count, each=16):
        """Sends that many requests, a few at a time on each connection in turn."""
        while count > 0:
            n = min(each, count)
            self._write(self.next, self.unsent[self.next] + self.data[self.next] * n)
            self.sent += n
            count -= n
            self.next = (self.next + 1) % len(self.sockets)

    def _write(self, i, data):
        try:
            self.unsent[i] = data[self.sockets[i].send(data) :]
        except BlockingIOError:
            self.unsent[i] = data
        self.poll.modify(self.sockets[i], select.POLLIN | (select.POLLOUT if self.unsent[i] else 0))

    def look(self, seconds):
        for fd, events in self.poll.poll(seconds * 1000):
            i = self.places[fd]
            if events & select.POLLOUT:
                self._write(i, self.unsent[i])
            if events & (select.POLLIN | select.POLLHUP | select.POLLERR):
                data = self.sockets[i].recv(1 << 18)
                if not data:
                    raise SystemExit("the server closed a connection")
                data = self.tails[i] + data
                self.done += data.count(b"HTTP/1.1 200")
                self.refused += data.count(b"HTTP/1.1 500")
                self.tails[i] = data[-11:]

    def close(self):
        for s in self.sockets:
            s.close()


class Listings:
    """Many connections that request a listing again after each response. It is compressed, so it
    costs the server much more than the clients."""

    TREE = 80  # keys of 400 bytes: just too few for rendering in pieces
    DATA = b"GET /v1/kv/tree?recurse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n"

    def __init__(self, port, connections):
        self.done, self.refused = 0, 0
        self.waiting, self.sockets = {}, {}
        self.poll = select.epoll()
        for _ in range(connections):
            s = socket.create_connection(("127.0.0.1", port), 30)
            s.setblocking(False)
            self.sockets[s.fileno()] = s
            self.waiting[s.fileno()] = b""
            self.poll.register(s, select.EPOLLIN)

    @classmethod
    def fill(cls, port):
        c = Connection(port)
        for i in range(cls.TREE):
            if c.ask("PUT", f"/v1/kv/tree/{i}", os.urandom(400))[0] != 200:
                raise SystemExit("a put was refused before there was any load")

    def run(self, seconds):
        """Sends for that long, then waits up to half a minute for all responses. Returns the
        seconds until the last request was sent."""
        began = time.monotonic()
        unanswered = set(self.sockets)
        for s in self.sockets.values():
            s.send(self.DATA)
        ended = None
        while unanswered:
            now = time.monotonic()
            if ended is None and now - began >= seconds:
                ended = now - began
                self.counted = (self.done, self.refused)
            if now - began >= seconds + 30:
                break
            for fd, _ in self.poll.poll(0.1):
                data = self.sockets[fd].recv(1 << 18)
                if not data:
                    raise SystemExit("the server closed a connection")
                data = self.waiting[fd] + data
                answer = whole_answer(data)
                if answer is None:
                    self.waiting[fd] = data
                    continue
                self.waiting[fd] = b""
                self.done += answer[0] == 200
                self.refused += answer[0] == 500
                if ended is None:
                    self.sockets[fd].send(self.DATA)
                else:
                    unanswered.discard(fd)
        self.unanswered = len(unanswered)
        return ended

    def close(self):
        self.poll.close()
        for s in self.sockets.values():
            s.close()


def sustainable_reads(port, options):
    """Listings per second for 512 clients: no overload, and nothing may be rejected."""
    load = Listings(port, 512)
    rate = load.run(options.seconds)
    rate = load.counted[0] / rate
    load.close()
    if load.refused:
        raise SystemExit(f"{load.refused} listings were refused though only 512 clients asked")
    return rate


def overload_of_reads(port, rate, options):
    """As many clients as would each wait for four seconds: eight times the limit."""
    load = Listings(port, max(1500, min(8000, int(4 * rate))))
    writer_told, stop = multiprocessing.Queue(), multiprocessing.Event()
    writer = multiprocessing.Process(target=write_now_and_then, args=(port, stop, writer_told))
    writer.start()
    took = load.run(options.seconds)
    stop.set()
    puts, puts_refused = writer_told.get(timeout=60)
    writer.join()
    load.close()
    done, refused = load.counted
    return {
        "sent": done + refused,
        "done": done / took,
        "refused": refused / took,
        "unanswered": load.unanswered,
        "puts_refused": puts_refused / max(1, puts),
        "waits": len(load.sockets) / rate,
    }


def write_now_and_then(port, stop, told):
    """Reports (puts, rejected ones), from the first rejection on."""
    c, puts, refused = Connection(port), 0, 0
    while not stop.wait(0.05):
        status = c.ask("PUT", "/v1/kv/beside", b"1")[0]
        refused += status == 500
        puts += refused > 0
    told.put((puts, refused))


def sustainable(port, options):
    """Puts per second with this many always in flight: no overload, and nothing may be rejected."""
    load = Puts(port, 16, options.value)
    began = None
    for seconds in (1, options.seconds):
        before, began = load.done, time.monotonic()
        while time.monotonic() - began < seconds:
            load.send(512 - load.unanswered())
            load.look(0.01)
    rate = (load.done - before) / (time.monotonic() - began)
    if load.refused:
        raise SystemExit(f"{load.refused} puts were refused though only 512 were unanswered")
    load.close()
    return rate


def overload(port, rate, options):
    load = Puts(port, options.connections, options.value)
    began = now = time.monotonic()
    while now - began < options.seconds:
        load.send(max(0, int((now - began) * rate) - load.sent))
        load.look(0.002)
        now = time.monotonic()
    done, refused = load.done, load.refused
    end = time.monotonic() + 30
    while load.unanswered() and time.monotonic() < end:
        load.look(0.1)
    unanswered = load.unanswered()
    load.close()
    return {"sent": load.sent, "done": done / options.seconds, "refused": refused / options.seconds, "unanswered": unanswered}


def keep_session(port, seconds, ready, stop, told):
    """Acquires a lock and renews its session every second. Reports (renewals, failed ones, longest,
    seconds of the release, still held)."""
    c = Connection(port)
    session = json.loads(c.ask("PUT", "/v1/session/create", b'{"TTL":"%ds","LockDelay":"0s"}' % TTL)[1])["ID"]
    held = all(c.ask("PUT", f"/v1/kv/{k}?acquire={session}", b"mine")[1] == b"true" for k in ("lock", "other-lock"))
    ready.set()
    start = time.monotonic()
    renewals, failed, longest, release_took = 0, 0, 0.0, None
    while not stop.wait(1.0):
        begin = time.monotonic()
        renewals += 1
        failed += c.ask("PUT", f"/v1/session/renew/{session}")[0] != 200
        longest = max(longest, time.monotonic() - begin)
        if release_took is None and time.monotonic() - start > seconds / 2:  # halfway
            begin = time.monotonic()
            released = c.ask("PUT", f"/v1/kv/other-lock?release={session}")
            release_took = time.monotonic() - begin
            if released != (200, b"true"):
                failed += 1
    status, body = c.ask("GET", "/v1/kv/lock")
    while status == 500:  # reads may be rejected for a moment longer
        time.sleep(0.1)
        status, body = c.ask("GET", "/v1/kv/lock")
    entry = json.loads(body)[0]
    held = held and entry.get("Session") == session and base64.b64decode(entry["Value"]) == b"mine"
    told.put((renewals, failed, longest, release_took, held))


class ConsulLock:
    """`consul lock` of the real Consul, around a command that takes longer than the overload."""

    def __init__(self, binary, port):
        self.process = subprocess.Popen(
            [binary, "lock", f"-http-addr=http://127.0.0.1:{port}", "consul-lock", "sleep 1000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        end = time.monotonic() + 20
        c = Connection(port)
        while time.monotonic() < end:
            status, body = c.ask("GET", "/v1/kv/consul-lock/.lock")
            if status == 200 and json.loads(body)[0].get("Session"):
                self.session = json.loads(body)[0]["Session"]
                return
            time.sleep(0.1)
        raise SystemExit("`consul lock` has got no lock")

    def kept(self, port):
        status, body = Connection(port).ask("GET", "/v1/kv/consul-lock/.lock")
        held = status == 200 and json.loads(body)[0].get("Session") == self.session
        return held and self.process.poll() is None

    def end(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(20)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="the belay program")
    parser.add_argument("--consul", help="the consul program: its `lock` has to keep its lock, too")
    parser.add_argument("--folder", default="/var/tmp", help="where data lie; a real disk")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--connections", type=int, default=1024)
    parser.add_argument("--value", type=int, default=16384, help="bytes; with small ones the log is not what has too much to do")
    parser.add_argument("--load", choices=("writes", "reads"), default="writes", help="what there is too much of")
    options = parser.parse_args()
    allow_open_files(20000)
    reads = options.load == "reads"
    with scratch(options.folder, "overload") as (folder, servers):
        servers += cluster(options.binary, folder, 1, {"limits": {"http_max_conns_per_client": 0}})
        port = servers[0].http_port
        Listings.fill(port)
        rate = sustainable_reads(port, options) if reads else sustainable(port, options)
        print(f"512 unanswered at all times: nothing refused (their rate is 1.00 below)")

        ready, stop, told = multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Queue()
        keeper = multiprocessing.Process(target=keep_session, args=(port, options.seconds, ready, stop, told))
        keeper.start()
        consul = ConsulLock(options.consul, port) if options.consul else None
        ready.wait(30)
        result = overload_of_reads(port, rate, options) if reads else overload(port, 2 * rate, options)
        stop.set()
        renewals, failed, longest, release_took, held = told.get(timeout=30)
        keeper.join()
        print(f"sent {result['sent'] / options.seconds / rate:.2f}, done {result['done'] / rate:.2f}, refused {result['refused'] / rate:.2f}")
        print(f"renewals {renewals}, failed {failed}, the longest took {longest / TTL:.3f} of the TTL; a release took {release_took / TTL:.3f}")
        if reads:
            print(f"without refusing each would wait for {result['waits'] / TTL:.3f} of the TTL; puts refused: {result['puts_refused']:.2f} of them")
        wrong = []
        if result["refused"] == 0:
            wrong.append("nothing was refused")
        if reads and result["refused"] / (result["done"] + result["refused"]) > result["puts_refused"]:
            wrong.append("more reads than puts were refused")
        if not reads and result["done"] < rate / 2:
            wrong.append("less than half of what can be done was done")
        if result["unanswered"]:
            wrong.append(f"{result['unanswered']} requests were never answered")
        if failed or not renewals:
            wrong.append("a renewal or a release failed")
        if longest > TTL / 2:
            wrong.append("a renewal took half of the TTL")
        if not held:
            wrong.append("the lock was lost")
        if consul is not None:
            if consul.kept(port):
                print("`consul lock` has kept its lock")
            else:
                wrong.append("`consul lock` has lost its lock")
            consul.end()
        end = time.monotonic() + 5
        status = 0
        while status != 200 and time.monotonic() < end:
            status, _ = servers[0].ask("PUT", "/v1/kv/after", b"1")
        if status != 200:
            wrong.append("a put was refused when it was over")
        for line in wrong:
            print("WRONG:", line)
        raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
