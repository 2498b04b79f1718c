"""Every change below a prefix, each once and in order, until examples/watched/end is written."""
import base64
import json

import consul

PREFIX = "/v1/kv/examples/watched/"
server = consul.Consul()


def changes(**where):
    return server.http.get(lambda response: response, PREFIX, {"recurse": "", "changes": "", **where})


def cursor(answer):  # with the history of the cluster, once all servers run 0.3.0
    return answer.headers.get("X-Belay-Cursor") or answer.headers["X-Consul-Index"]


place = cursor(changes())
print("watching", flush=True)
end = False
while not end:
    got = changes(index=place, wait="60s")
    if got.code == 410:  # too far behind, or the cluster was restored: the current keys, then the changes
        got = changes(snapshot="")
    if got.code != 200:
        raise RuntimeError(f"{got.code} {got.body}")
    for change in json.loads(got.body):
        name = change["Key"].rsplit("/", 1)[1]
        end = end or name == "end"
        print(change["Event"], name, *([base64.b64decode(change["Value"]).decode()] if change["Value"] else []), flush=True)
    place = cursor(got)  # store it, and resume there after a restart, at any server
