"""HTTP connections of a measurement: with as little Python per request as possible, because it
shares the machine with the server."""

import socket

END_OF_HEADER = b"\r\n\r\n"


def request(method, target, body=b""):
    return b"%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s" % (method.encode(), target.encode(), len(body), body)


def whole_answer(buffer):
    """(status, begin of the body, end of the response) of a complete response, else None."""
    at = buffer.find(END_OF_HEADER)
    if at < 0:
        return None
    length = buffer.find(b"Content-Length: ", 0, at)
    if length < 0:
        raise OSError("an answer without Content-Length: " + bytes(buffer[:at]).decode(errors="replace"))
    stop = buffer.find(b"\r", length)
    end = at + 4 + int(buffer[length + 16 : stop])
    return (int(buffer[9:12]), at + 4, end) if len(buffer) >= end else None


class Connection:
    """One request at a time; waits for the response."""

    def __init__(self, port, limit=30):
        self.socket = socket.create_connection(("127.0.0.1", port), limit)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()

    def ask(self, method, target, body=b""):
        return self.exchange(request(method, target, body))

    def exchange(self, data):
        """Sends the bytes of one request. Returns status and body of its response."""
        self.socket.sendall(data)
        while True:
            answer = whole_answer(self.buffer)
            if answer:
                status, begin, end = answer
                body = bytes(self.buffer[begin:end])
                del self.buffer[:end]
                return status, body
            more = self.socket.recv(1 << 18)
            if not more:
                raise OSError("the server closed the connection")
            self.buffer += more

    def close(self):
        self.socket.close()


def percentile(sorted_values, share):
    """The smallest value that this share of the values does not exceed."""
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))] if sorted_values else float("nan")
