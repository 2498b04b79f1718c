"""tooz, OpenStack's library for coordination: locks and groups on Consul."""
import threading

import tooz
from cases import HOST, PORT, case, equal, eventually
from tooz import coordination

one, two = (coordination.get_coordinator(f"consul://{HOST}:{PORT}?ttl=15", name) for name in (b"one", b"two"))


@case("start")
def start():
    one.start()
    two.start()


@case("lock")
def lock():
    mine, other = one.get_lock(b"lock"), two.get_lock(b"lock")
    equal(mine.acquire(blocking=False), True)
    equal(other.acquire(blocking=False), False)
    taken = threading.Event()
    waiter = threading.Thread(target=lambda: other.acquire(blocking=20) and taken.set(), daemon=True)
    waiter.start()
    equal(taken.wait(0.5), False)
    equal(mine.release(), True)
    equal(taken.wait(20), True)
    equal(other.release(), True)


@case("groups")
def groups():
    one.create_group(b"group").get()
    try:
        two.create_group(b"group").get()
    except coordination.GroupAlreadyExist:
        pass
    else:
        raise AssertionError("created twice")
    one.join_group(b"group", b"can").get()
    two.join_group(b"group", b"can, too").get()
    equal(sorted(one.get_members(b"group").get()), [b"one", b"two"])
    equal(one.get_member_capabilities(b"group", b"two").get(), b"can, too")
    equal(two.get_groups().get(), [b"group"])
    two.leave_group(b"group").get()
    eventually(lambda: one.get_members(b"group").get() == {b"one"})


@case("watch of a group")
def watch():
    seen = []
    one.watch_join_group(b"group", lambda event: seen.append(event.member_id))
    one.run_watchers()
    two.join_group(b"group").get()
    one.run_watchers()
    equal(seen, [b"two"])


@case("heartbeat and stop")
def stop():
    try:
        one.heartbeat()
    except tooz.NotImplemented:
        pass
    one.stop()
    eventually(lambda: b"one" not in two.get_members(b"group").get())
    two.stop()


print("done")
