"""Patroni's store on Consul, as two PostgreSQL nodes use it: they race for the leader key, follow it, and take over."""
import threading

from cases import HOST, PORT, case, equal, eventually
from patroni.dcs.consul import Consul

SETTINGS = {"scope": "pg", "namespace": "/service/", "host": HOST, "port": PORT, "ttl": 20, "loop_wait": 5, "retry_timeout": 5, "register_service": True}
MEMBER = {"conn_url": "postgres://127.0.0.1:5432/postgres", "api_url": "http://127.0.0.1:8008/patroni", "state": "running", "role": "replica"}
one, two = (Consul(dict(SETTINGS, name=name)) for name in ("one", "two"))


@case("initialization")
def initialization():
    assert one.initialize(create_new=True, sysid="42")
    equal(bool(two.initialize(create_new=True, sysid="43")), False)
    assert one.set_config_value('{"ttl": 20}')


@case("members")
def members():
    for node in (one, two):
        assert node.touch_member(dict(MEMBER))
    cluster = two.get_cluster()
    equal(sorted(m.name for m in cluster.members), ["one", "two"])
    equal(cluster.initialize, "42")
    equal(cluster.members[0].data["state"], "running")


@case("leader")
def leader():
    equal(bool(one.attempt_to_acquire_leader()), True)
    equal(bool(two.attempt_to_acquire_leader()), False)
    equal(two.get_cluster().leader.name, "one")
    one.get_cluster()
    equal(bool(one.update_leader(1234)), True)
    equal(two.get_cluster().last_lsn, 1234)


@case("the other one is woken, and takes over")
def takeover():
    cluster = two.get_cluster()
    one.get_cluster()
    timer = threading.Timer(0.3, one.delete_leader)
    timer.start()
    assert two.watch(cluster.leader.index, 20)
    timer.join()
    eventually(lambda: two.attempt_to_acquire_leader())
    equal(one.get_cluster().leader.name, "two")


@case("a session that is gone")
def session():
    one.get_cluster()
    one._client.session.destroy(one._session)
    eventually(lambda: not [m for m in two.get_cluster().members if m.name == "one"])  # its key is deleted
    one._last_session_refresh = 0  # it renews at most once every loop_wait
    assert one.touch_member(dict(MEMBER))
    equal(sorted(m.name for m in two.get_cluster().members), ["one", "two"])


@case("service")
def service():
    two.touch_member(dict(MEMBER, role="master"))
    eventually(lambda: len(two._client.catalog.service("pg")[1]) > 0)


@case("failover and history")
def failover():
    assert two.set_failover_value('{"leader": "two"}')
    equal(two.get_cluster().failover.leader, "two")
    assert two.set_history_value("[]")
    assert two.delete_cluster()
    equal(two.get_cluster().members, [])


print("done")
