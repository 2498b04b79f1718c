"""One process at a time counts. Waiting processes are served in the order of their requests."""
import json
import time
import uuid

import consul
import requests

from session import Session

NAME = "examples/count-lock"
CLAIM = "/v1/claim/" + NAME


def answer(response):
    if response.code >= 500:
        raise consul.ConsulException(response.body)  # no leader just now, for example
    if response.code != 200:
        raise RuntimeError(f"{response.code} {response.body}")
    return json.loads(response.body)


server = consul.Consul()  # CONSUL_HTTP_ADDR
session = Session("counting")
mine = str(uuid.uuid4())  # a retry with it is the same claim, and keeps its position

state = None
while state != "held":
    try:
        got = server.http.put(answer, CLAIM, {"session": session.id, "id": mine, "wait": "30s"})
        state, fence = got["State"], got.get("Fence")
    except (requests.RequestException, consul.ConsulException):
        time.sleep(1)

try:
    _, row = server.kv.get("examples/count")
    count = int(row["Value"]) + 1 if row else 1
    # 409 if another client has the lock by now.
    server.http.put(answer, "/v1/kv/examples/count", {"fence": fence, "claim": NAME}, str(count))
    print(f"count {count}, fence {fence}")
finally:
    server.http.delete(answer, CLAIM, {"id": mine})  # first this: then no client waits for a lock delay
    session.close()
