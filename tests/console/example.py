"""What the servers of the tests and the pictures hold: sessions, claims of each kind, a circle of waits, locks of keys, keys, services, events."""
import json
import threading


def _wait_for_lock(server, path):
    try:
        server.ask("PUT", path)
    except OSError:
        pass  # nobody listens any more; the wait is in the state of the servers


def fill(server):
    """@returns names of sessions -> IDs"""

    def put(path, body=b""):
        status, text = server.ask("PUT", path, body if isinstance(body, (bytes, dict, list)) else body.encode())
        if status != 200:
            raise SystemExit(f"{path}: {status} {text}")
        return text

    ids = {}

    def session(name, **settings):
        ids[name] = json.loads(put("/v1/session/create", {"Name": name, **settings}))["ID"]
        return ids[name]

    workers = [None] + [session(f"worker-{i}", TTL="600s", LockDelay="0s") for i in range(1, 7)]
    cron = session("cron", TTL="300s", TTLMode="exact", LockDelay="15s")
    builder = session("builder", TTL="120s", LockDelay="60s")

    put(f"/v1/claim/jobs/nightly-backup?session={workers[1]}", "host-1, pid 4711")
    for i in (2, 3, 4, 5):
        put(f"/v1/claim/jobs/nightly-backup?session={workers[i]}&deadline=20m&priority={5 if i == 4 else 0}")
    for i in (1, 2, 3):
        put(f"/v1/claim/pool/db-connections?session={workers[i]}&kind=semaphore&limit=5&permits=2")
    for i, mode in ((4, "shared"), (5, "shared"), (6, "exclusive")):
        put(f"/v1/claim/config/schema?session={workers[i]}&kind=rw&mode={mode}")
    for s in (cron, workers[6]):
        put(f"/v1/claim/scheduler/leader?session={s}&kind=election")
    for name, s in (("left", workers[5]), ("right", workers[6]), ("left", workers[6]), ("right", workers[5])):
        put(f"/v1/claim/{name}?session={s}")

    put(f"/v1/kv/service/web/leader?acquire={workers[3]}", '{"host":"host-3","pid":812}')
    put(f"/v1/kv/locks/deploy?acquire={builder}", "n1")
    threading.Thread(target=_wait_for_lock, args=(server, f"/v1/kv/locks/deploy?acquire={workers[2]}&queue=10m"), daemon=True).start()

    for replicas, hosts in ((3, ["a.example", "b.example"]), (4, ["a.example", "b.example", "c.example"])):
        put("/v1/kv/app/web/config", json.dumps({"name": "web", "replicas": replicas, "features": {"beta": True, "rate": 250}, "hosts": hosts}, separators=(",", ":")))
    put("/v1/kv/app/web/log-level", "info")
    put("/v1/kv/app/api/port", "8443")
    put("/v1/kv/app/api/secret.bin", b"\x00\x01\xff\xfe")
    for i in range(1, 41):
        put(f"/v1/kv/app/tenants/tenant-{i:02}/quota", str(i))
    put("/v1/kv/app/web/port", "8080")

    for ident, name, port, status in (("web-1", "web", 8080, "passing"), ("web-2", "web", 8081, "warning"), ("billing-1", "billing", 9000, "critical")):
        put("/v1/agent/service/register", {"Name": name, "ID": ident, "Port": port, "Tags": ["v2"] if name == "web" else [], "Check": {"TTL": "3600s", "Status": status}})
    put("/v1/event/fire/deploy", "1.4.2")
    put("/v1/event/fire/reload?service=web")

    return ids


def begin_delay(server):
    """Lets a lock delay begin, of a minute: the longest that there is."""
    gone = json.loads(server.ask("PUT", "/v1/session/create", {"Name": "gone", "LockDelay": "60s"})[1])["ID"]
    server.ask("PUT", f"/v1/claim/reports/weekly?session={gone}&id={gone}")
    server.ask("PUT", f"/v1/session/destroy/{gone}")
