"""Very many blocking queries, each on a key and a connection of its own."""

import base64
import json
import select
import socket
import time

from connection import Connection, request, whole_answer


class Queries:
    """Connections with one blocking query each: only sockets, and one epoll for all. Every 20,000
    use another source address (127.0.0.2, 127.0.0.3, ...), because one address has about 28,000
    ports for outgoing connections, and the load needs the others."""

    def __init__(self, port, count):
        self.epoll, self.by_descriptor, self.sockets = select.epoll(), {}, []
        for i in range(count):
            s = socket.create_connection(("127.0.0.1", port), 30, (f"127.0.0.{2 + i // 20000}", 0))
            self.sockets.append(s)
            self.by_descriptor[s.fileno()] = i
            self.epoll.register(s.fileno(), select.EPOLLIN)

    def send(self, targets):
        for s, target in zip(self.sockets, targets):
            s.sendall(request("GET", target))

    def answers(self, count, limit=60):
        """Waits for that many responses. Returns query, status and arrival time of each."""
        found, buffers, end = [], {}, time.monotonic() + limit
        while len(found) < count:
            ready = self.epoll.poll(max(0, end - time.monotonic()), 1024)
            if not ready:
                raise SystemExit(f"{count - len(found)} of {count} answers did not come within {limit} s")
            for descriptor, _ in ready:
                i = self.by_descriptor[descriptor]
                data = self.sockets[i].recv(65536)
                if not data:
                    raise SystemExit(f"the server closed connection {i}")
                buffer = buffers.setdefault(i, bytearray())
                buffer += data
                answer = whole_answer(buffer)
                if answer:
                    found.append((i, answer[0], time.monotonic()))
                    del buffers[i]
        return found

    def none_answered(self):
        return not self.epoll.poll(0, 1)

    def close(self):
        for s in self.sockets:
            s.close()
        self.epoll.close()


def key(i):
    return f"poll/{i:06d}"


def fill(server, count):
    """Writes one key for each query. Returns the index of each write."""
    connection, indexes = Connection(server.http_port), []
    value = base64.b64encode(b"v" * 100).decode()
    for begin in range(0, count, 64):
        keys = range(begin, min(count, begin + 64))
        body = json.dumps([{"KV": {"Verb": "set", "Key": key(i), "Value": value}} for i in keys]).encode()
        status, text = connection.ask("PUT", "/v1/txn", body)
        if status != 200:
            raise SystemExit(f"filling: status {status}: {text[:200]}")
        indexes += [row["KV"]["ModifyIndex"] for row in json.loads(text)["Results"]]
    connection.close()
    return indexes


def parked(server):
    gauges = json.loads(server.ask("GET", "/v1/agent/metrics")[1])["Gauges"]
    return next(int(g["Value"]) for g in gauges if g["Name"].endswith("watch.parked_queries"))


def wait_until_parked(server, count, limit=60):
    end = time.monotonic() + limit
    while parked(server) < count:
        if time.monotonic() > end:
            raise SystemExit(f"only {parked(server)} of {count} queries are parked")
        time.sleep(0.1)
