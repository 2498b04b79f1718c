"""A session that a thread of its own renews. One session holds everything."""
import threading
import time

import consul
import requests

TTL = 15  # seconds; python-consul requires 10 and more


class Session:
    def __init__(self, name):
        self.client = consul.Consul()  # its own: a connection belongs to one thread
        self.closing = threading.Event()
        asked = time.monotonic()
        self.id = self.client.session.create(name, checks=[], ttl=TTL)
        self.safe_until = asked + TTL  # from the request on, not from the response
        threading.Thread(target=self.renew, daemon=True).start()

    def renew(self):
        while not self.closing.wait(TTL / 3):
            asked = time.monotonic()
            try:
                self.client.session.renew(self.id)
                self.safe_until = asked + TTL
            except consul.NotFound:
                self.safe_until = 0  # it has ended
                return
            except (consul.ConsulException, requests.RequestException):
                pass  # no response, or no leader just now: the time runs on

    def safe(self):
        """No other client has what this session holds. Check before each critical step."""
        return time.monotonic() < self.safe_until

    def close(self):
        self.closing.set()
        consul.Consul().session.destroy(self.id)
