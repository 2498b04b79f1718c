"""python-consul, and its offspring python-consul2: every kind of request that it has a method for."""
import threading
import time

import consul
from cases import HOST, PORT, case, equal, eventually

c = consul.Consul(host=HOST, port=PORT)


@case("keys")
def keys():
    equal(c.kv.put("a/1", "one", flags=7), True)
    index, row = c.kv.get("a/1")
    equal((row["Value"], row["Flags"], row["Key"]), (b"one", 7, "a/1"))
    assert int(index) > 0
    equal(c.kv.put("a/2", b"\x00\xff"), True)
    equal(c.kv.put("a/b/3", None), True)
    equal([r["Value"] for r in c.kv.get("a/", recurse=True)[1]], [b"one", b"\x00\xff", None])
    equal(c.kv.get("a/", keys=True)[1], ["a/1", "a/2", "a/b/3"])
    equal(c.kv.get("a/", keys=True, separator="/")[1], ["a/1", "a/2", "a/b/"])
    equal(c.kv.get("none")[1], None)


@case("check-and-set")
def check_and_set():
    equal(c.kv.put("cas", "1", cas=0), True)
    equal(c.kv.put("cas", "2", cas=0), False)
    row = c.kv.get("cas")[1]
    equal(c.kv.put("cas", "3", cas=row["ModifyIndex"]), True)
    equal(c.kv.delete("cas", cas=row["ModifyIndex"]), False)
    equal(c.kv.delete("cas", cas=c.kv.get("cas")[1]["ModifyIndex"]), True)


@case("delete")
def delete():
    equal(c.kv.delete("a/1"), True)
    equal(c.kv.get("a/1")[1], None)
    equal(c.kv.delete("a/", recurse=True), True)
    equal(c.kv.get("a/", recurse=True)[1], None)


@case("watch of a key")
def watch():
    index, _ = c.kv.get("watched")
    timer = threading.Timer(0.3, lambda: consul.Consul(host=HOST, port=PORT).kv.put("watched", "now"))
    timer.start()
    seen, row = c.kv.get("watched", index=index, wait="20s")
    timer.join()
    equal(row["Value"], b"now")
    assert int(seen) > int(index)
    began = time.monotonic()
    equal(c.kv.get("watched", index=seen, wait="1s")[1]["Value"], b"now")
    assert time.monotonic() - began >= 0.9


@case("consistency modes")
def modes():
    for mode in ("default", "consistent", "stale"):
        equal(c.kv.get("watched", consistency=mode)[1]["Value"], b"now")


@case("transaction")
def transaction():
    done = c.txn.put([{"KV": {"Verb": "set", "Key": "t", "Value": "dA=="}}, {"KV": {"Verb": "get", "Key": "t"}}])
    equal([r["KV"]["Key"] for r in done["Results"]], ["t", "t"])


@case("lock")
def lock():
    mine, other = c.session.create("mine", ttl=20), c.session.create("other", lock_delay=0, behavior="delete", ttl=20)
    equal(c.kv.put("lock", "me", acquire=mine), True)
    equal(c.kv.put("lock", "you", acquire=other), False)
    equal(c.kv.get("lock")[1]["Session"], mine)
    equal(c.kv.put("lock", "me", release=mine), True)
    equal(c.kv.put("lock", "you", acquire=other), True)
    equal(c.session.destroy(other), True)
    equal(c.kv.get("lock")[1], None)
    equal(c.session.renew(mine)["ID"], mine)
    equal(c.session.info(mine)[1]["Name"], "mine")
    assert mine in [s["ID"] for s in c.session.list()[1]] and mine in [s["ID"] for s in c.session.node("clients")[1]]
    c.session.destroy(mine)
    try:
        c.session.renew(mine)
    except consul.NotFound:
        return
    raise AssertionError("a session that has ended was renewed")


@case("service with a check")
def service():
    check = consul.Check.http(f"http://{HOST}:{PORT}/v1/status/leader", "1s")
    equal(c.agent.service.register("web", service_id="web-1", address="127.0.0.2", port=80, tags=["v1"], check=check), True)
    equal(c.agent.services()["web-1"]["Port"], 80)
    eventually(lambda: len(c.health.service("web", passing=True)[1]) == 1)
    equal(c.health.service("web", passing=True)[1][0]["Service"]["Tags"], ["v1"])
    equal([r["CheckID"] for r in c.health.checks("web")[1]], ["service:web-1"])


@case("maintenance")
def maintenance():
    equal(c.agent.maintenance(True, "repair"), True)
    eventually(lambda: "_node_maintenance" in [r["CheckID"] for r in c.health.node("clients")[1]])
    equal(c.agent.maintenance(False), True)
    equal(c.agent.service.maintenance("web-1", True, "repair"), True)
    eventually(lambda: [r["ServiceID"] for r in c.health.state("critical")[1]] == ["web-1"])
    equal(c.agent.service.maintenance("web-1", False), True)


@case("TTL check")
def ttl():
    equal(c.agent.check.register("beat", check=consul.Check.ttl("20s")), True)
    for call, status in ((c.agent.check.ttl_pass, "passing"), (c.agent.check.ttl_warn, "warning"), (c.agent.check.ttl_fail, "critical")):
        equal(call("beat", "note"), True)
        equal((c.agent.checks()["beat"]["Status"], c.agent.checks()["beat"]["Output"]), (status, "note"))


@case("kinds of checks")
def checks():
    for name, check in (("tcp", consul.Check.tcp(HOST, PORT, "1s")), ("http", consul.Check.http(f"http://{HOST}:{PORT}/v1/status/leader", "1s"))):
        equal(c.agent.check.register(name, check=check), True)
        eventually(lambda: c.agent.checks()[name]["Status"] == "passing")


@case("deregistration")
def deregistration():
    equal(c.agent.service.deregister("web-1"), True)
    eventually(lambda: c.catalog.service("web")[1] == [])
    equal(c.agent.check.deregister("http"), True)


@case("catalog")
def catalog():
    equal(c.catalog.register("elsewhere", "127.0.0.9", service={"Service": "db", "ID": "db-1", "Port": 5432, "Tags": ["primary"]}), True)
    equal([n["Node"] for n in c.catalog.nodes()[1]], ["clients", "elsewhere"])
    assert "db" in c.catalog.services()[1]
    equal(c.catalog.service("db", tag="primary")[1][0]["ServicePort"], 5432)
    equal(c.catalog.node("elsewhere")[1]["Node"]["Address"], "127.0.0.9")
    equal(c.catalog.datacenters(), ["dc1"])
    equal(c.catalog.deregister("elsewhere", service_id="db-1"), True)
    equal(c.catalog.deregister("elsewhere"), True)


@case("event")
def event():
    fired = c.event.fire("deploy", "now")
    equal(fired["Name"], "deploy")
    eventually(lambda: fired["ID"] in [e["ID"] for e in c.event.list("deploy")[1]])


@case("status and agent")
def status():
    assert c.status.leader() and len(c.status.peers()) == 1
    equal(c.agent.self()["Config"]["NodeName"], "clients")
    equal([m["Name"] for m in c.agent.members()], ["clients"])
    equal(c.operator.raft_config()["Servers"][0]["Leader"], True)
    assert c.coordinate.datacenters()[0]["Datacenter"] == "dc1"


@case("errors")
def errors():
    for wanted, call in ((consul.NotFound, lambda: c.session.renew("00000000-0000-4000-8000-000000000000")),
                         (consul.base.BadRequest, lambda: c.kv.get("a", index=1, wait="never"))):
        try:
            call()
        except wanted:
            continue
        raise AssertionError(f"no {wanted.__name__}")


print("done")
