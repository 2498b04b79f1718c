"""A proxy on 127.0.0.1 between clients and one server. It counts bytes and requests of HTTP/1.1,
gRPC and ZooKeeper's protocol."""

import asyncio
import collections
import contextlib
import threading
import time

IDLE_LIMIT = 60  # seconds until it gives up on clients that do not become idle
QUIET = 0.6  # seconds without a byte, after which all clients are considered waiting
RENEWAL = "renewal"


class Http1:
    """Requests of one HTTP/1.1 connection: method and path, from their heads."""

    def __init__(self):
        self.buffer, self.body = b"", 0

    def feed(self, data):
        self.buffer += data
        while True:
            skipped = min(self.body, len(self.buffer))
            self.buffer, self.body = self.buffer[skipped:], self.body - skipped
            head, end, rest = self.buffer.partition(b"\r\n\r\n")
            if not end:
                return
            lines = head.decode().split("\r\n")
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            if "transfer-encoding" in fields:
                raise ValueError("a request in chunks: " + lines[0])
            self.buffer, self.body = rest, int(fields.get("content-length", 0))
            request = lines[0].rsplit(" ", 1)[0]
            yield RENEWAL if request.startswith("PUT /v1/session/renew/") else request


class Grpc:
    """Messages of the client on one HTTP/2 connection: one in an ordinary call, any number on a
    stream. Names of calls are compressed, so they are not shown; a call is a HEADERS frame of
    the client."""

    PREFACE = 24  # bytes: RFC 9113, section 3.4

    def __init__(self):
        self.buffer, self.preface, self.streams = bytearray(), self.PREFACE, collections.defaultdict(bytearray)

    def feed(self, data):
        self.buffer += data
        if self.preface and len(self.buffer) >= self.preface:
            del self.buffer[: self.preface]
            self.preface = 0
        while not self.preface and len(self.buffer) >= 9:  # length 3, type 1, flags 1, stream 4: section 4.1
            length, kind, flags = int.from_bytes(self.buffer[:3], "big"), self.buffer[3], self.buffer[4]
            if len(self.buffer) < 9 + length:
                return
            stream, payload = int.from_bytes(self.buffer[5:9], "big"), self.buffer[9 : 9 + length]
            del self.buffer[: 9 + length]
            if kind == 1:
                yield "call"
            elif kind == 0:
                if flags & 8:
                    raise ValueError("a padded DATA frame")
                yield from self.messages(self.streams[stream], payload, stream)

    @staticmethod
    def messages(buffer, payload, stream):
        buffer += payload
        while len(buffer) >= 5 and len(buffer) >= 5 + (size := int.from_bytes(buffer[1:5], "big")):  # compressed 1, length 4
            del buffer[: 5 + size]
            yield f"message of {size} bytes on stream {stream}"


class Zookeeper:
    """Requests of one ZooKeeper connection: length 4, then that of the session, later xid 4 and
    type 4."""

    TYPES = {1: "create", 2: "delete", 3: "exists", 4: "getData", 5: "setData", 8: "getChildren", 12: "getChildren2", -11: "closeSession"}

    def __init__(self):
        self.buffer, self.connected = bytearray(), False

    def feed(self, data):
        self.buffer += data
        while len(self.buffer) >= 4 and len(self.buffer) >= 4 + (size := int.from_bytes(self.buffer[:4], "big")):
            xid, kind = (int.from_bytes(self.buffer[at : at + 4], "big", signed=True) for at in (4, 8))
            del self.buffer[: 4 + size]
            yield "connect" if not self.connected else RENEWAL if xid == -2 else self.TYPES.get(kind, f"type {kind}")
            self.connected = True


class Proxy:
    """Between clients and one server: counts the traffic. `events` are the requests, in order."""

    def __init__(self, port, protocol):
        self.upstream, self.protocol = port, protocol
        self.sent = self.received = self.connections = 0
        self.events, self.moved, self.wrong, self.ways = [], time.monotonic(), None, []
        self.loop = asyncio.new_event_loop()
        listening = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(listening,), daemon=True)
        self.thread.start()
        listening.wait()

    def run(self, listening):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        listening.set()
        self.loop.run_forever()

    async def serve(self, client, to_client):
        self.connections, self.moved = self.connections + 1, time.monotonic()
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:  # the client notices, too
            return to_client.close()
        self.ways += [to_client, to_server]
        protocol = self.protocol()

        async def pump(source, target, count):
            with contextlib.suppress(OSError):
                while data := await source.read(1 << 16):
                    self.moved = time.monotonic()
                    count(data)
                    target.write(data)
                    await target.drain()
            target.close()

        def up(data):
            self.sent += len(data)
            try:
                self.events.extend(protocol.feed(data))
            except ValueError as error:
                self.wrong = error

        def down(data):
            self.received += len(data)

        await asyncio.gather(pump(client, to_server, up), pump(server, to_client, down))

    def stop(self):
        def end():
            for way in self.ways:
                way.transport.abort()
            self.loop.call_later(0.1, self.loop.stop)  # when they are closed

        self.loop.call_soon_threadsafe(end)
        self.thread.join()

    def quiet(self, limit=IDLE_LIMIT):
        """Returns once no byte has moved for a while."""
        end = time.monotonic() + limit
        while time.monotonic() < self.moved + QUIET:
            if time.monotonic() > end:
                raise SystemExit("the clients do not come to rest")
            time.sleep(0.02)
        if self.wrong:
            raise SystemExit(f"cannot count: {self.wrong}")
