"""One of many candidates leads. usage: election.py NAME SECONDS   (how long it leads before it resigns)"""
import base64
import json
import sys
import time
import uuid

import consul

from session import Session

CLAIM = "/v1/claim/examples/leader"
me, term = sys.argv[1], float(sys.argv[2])


def answer(response):
    if response.code != 200:
        raise RuntimeError(f"{response.code} {response.body}")
    return json.loads(response.body), response.headers.get("X-Consul-Index")


server = consul.Consul()
session = Session(me)
mine = str(uuid.uuid4())
server.http.put(answer, CLAIM, {"kind": "election", "session": session.id, "id": mine}, me)

# Sent once; from now on it is enough to watch the leader.
index, leader = 1, None
while leader != mine:
    if not session.safe():
        sys.exit("the session has ended: start over")
    seen, index = server.http.get(answer, CLAIM, {"index": index, "wait": "10s"})
    for holder in seen["Holders"] or []:
        if holder["ID"] != leader and holder["ID"] != mine:
            print(base64.b64decode(holder["Value"]).decode(), "leads", flush=True)
        leader, fence = holder["ID"], holder["Fence"]

print(f"I lead, fence {fence}", flush=True)
end = time.monotonic() + term
while session.safe() and time.monotonic() < end:
    time.sleep(0.1)  # the leader's work, in steps that are shorter than the TTL; each with the fence

server.http.delete(lambda response: None, CLAIM, {"id": mine})
session.close()
print("I have resigned")
