#!/usr/bin/env python3
"""The commands that compare, copy and reconcile keys, on two real servers.

usage: tests/client/copy_commands_test.py BELAY
"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from command_node import check, ended, limit, node
from running_server import running_server

belay = sys.argv[1]


def put(n, key, value, flags=0):
    n.ask("PUT", f"/v1/kv/{key}?flags={flags}", value.encode())


def erase(n, key):
    n.ask("DELETE", f"/v1/kv/{key}")


def tree(n, prefix):
    """Keys without the prefix, with values and flags."""
    rows = json.loads(n.said("kv", "get", "-recurse", "-format=json", prefix) or "[]")
    return {row["Key"][len(prefix):]: (row["Value"], row["Flags"]) for row in rows}


def differences(a, b):
    """What differs is told by kinds; what is equal, or is so within the time to settle, is not."""
    put(a, "app/same", "1", 7)
    put(b, "app/same", "1", 7)
    check(a.said("diff", "-settle=10ms", a.url, b.url, "app/") == "", "nothing differs")
    put(a, "app/lacks", "1")
    put(b, "app/left", "1")
    put(a, "app/value", "1")
    put(b, "app/value", "2")
    put(a, "app/flags", "1", 1)
    put(b, "app/flags", "1", 2)
    put(b, "other/key", "1")
    told = a.said("diff", "-settle=10ms", a.url, b.url, "app/", code=1)
    check([line.split() for line in told.splitlines()] == [["OtherValue", "app/flags"], ["PhantomUndelete", "app/lacks"],
                                                          ["MissingDelete", "app/left"], ["OtherValue", "app/value"]], told)
    rows = json.loads(a.said("diff", "-settle=10ms", "-format=json", a.url, b.url, "", code=1))
    check({"Kind": "MissingDelete", "Key": "other/key"} in rows, rows)

    # In flight: the copy is corrected between the two reads.
    put(a, "way/a", "1")
    slow = a.start("diff", "-settle=3s", a.url, b.url, "way/")
    time.sleep(0.7)
    put(b, "way/a", "1")
    ended(slow, 0)

    put(a, "here/a", "1")
    put(a, "there/a", "1")
    check(a.said("diff", "-settle=10ms", a.url, a.url, "here/", "there/") == "", "two prefixes of one server")
    a.said("diff", "-timeout=300ms", a.url, "127.0.0.1:1", "app/", code=2)


def mirrors(a, b):
    """A copy follows, is left alone in what it was not made of, and can be killed at any time."""
    put(a, "live/a", "1", 5)
    put(a, "live/b", "1")
    put(b, "live/stranger", "mine")
    said = a.said("mirror", "-once", a.url, b.url, "live/")
    check(said.startswith("Success! 2 keys written; the copy equals the original at "), said)
    check(tree(b, "live/") == {**tree(a, "live/"), "stranger": ("bWluZQ==", 0)}, "a copy")
    check(a.said("mirror", "-once", a.url, b.url, "live/").startswith("Success! 0 keys written"), "nothing is left to do")
    erase(b, "live/stranger")

    erase(a, "live/b")
    put(a, "live/c", "1")
    follower = a.start("mirror", a.url, b.url, "live/")
    b.wait("it catches up", lambda: tree(b, "live/") == tree(a, "live/"))
    for i in range(20):
        put(a, f"live/many/{i}", str(i))
        if i == 10:
            follower.kill()
            follower.communicate(timeout=limit)
            follower = a.start("mirror", a.url, b.url, "live/")
    b.wait("it goes on", lambda: tree(b, "live/") == tree(a, "live/"))
    follower.send_signal(signal.SIGTERM)
    ended(follower, 0)

    put(b, "live/a", "somebody else's")
    check(a.said("mirror", "-once", a.url, b.url, "live/").startswith("Success! 0 keys written"), "it is no change of the original")
    check(a.said("mirror", "-once", "-repair", a.url, b.url, "live/").startswith("Success! 1 key written"), "it is put right")
    check(a.said("diff", "-settle=10ms", a.url, b.url, "live/") == "", "equal")
    a.said("mirror", "-once", "-name=notes", a.url, a.url, "live/", "elsewhere/")
    check(tree(a, "elsewhere/") == tree(a, "live/"), "on one server")
    check(a.said("kv", "get", "-keys", "notes/") != "", "notes where they should be")


def reconcilers(a, b):
    """The command runs for each key, for those that fail again, for those that change; never twice at once for one."""
    for i in range(12):
        put(a, f"routes/{i}", str(i))
    dry = a.said("reconcile", "-dry-run", "routes/")
    check(sorted(dry.split()) == sorted(f"routes/{i}" for i in range(12)), dry)

    # A command that fails the first time is retried. No two run at once for a key: mkdir would fail.
    apply = 'mkdir "${BELAY_KEY#routes/}" && sleep 0.02 && rmdir "${BELAY_KEY#routes/}" || { echo twice >>twice; exit 1; }; ' \
            'echo "$BELAY_KEY $BELAY_INDEX $(cat)" >>applied; case $BELAY_KEY in */3) test -e tried || { touch tried; exit 1; } ;; esac'
    said = a.said("reconcile", "-once", "-workers=4", "routes/", "--", apply)
    check(said == "Success! 12 keys done\n", said)
    lines = [line.split() for line in a.text("applied").splitlines()]
    check(sorted(line[0] for line in lines) == sorted([f"routes/{i}" for i in range(12)] + ["routes/3"]), lines)
    check(all(line[0] == f"routes/{line[2]}" and int(line[1]) > 0 for line in lines), lines)
    check(a.text("twice") == "", "two at once")

    bad = subprocess.run([belay, "reconcile", "-once", "-tries=2", "routes/", 'case $BELAY_KEY in */5) exit 3 ;; esac'], text=True,
                         env=a.environment, cwd=a.folder, capture_output=True, timeout=limit)
    check(bad.returncode == 1, bad.stderr)
    check(bad.stderr == "Error executing handler for routes/5: exit status 3\n" * 2 + "Error! 1 key failed 2 times, 11 keys done\n", bad.stderr)

    slow = subprocess.run([belay, "reconcile", "-once", "-tries=1", "-limit=300ms", "routes/1", "exec sleep 60"], text=True, env=a.environment,
                          cwd=a.folder, capture_output=True, timeout=limit)
    check(slow.returncode == 1 and "The command exceeded -limit and is terminated: routes/1\n" in slow.stderr, slow.stderr)
    a.said("reconcile", "-once", "-per-second=20", "-limit=5s", "nothing/", "true")

    (a.folder / "applied").unlink()
    goes_on = a.start("reconcile", "-every=1h", "routes/", 'echo "$BELAY_KEY $BELAY_INDEX $(cat)" >>applied')
    a.wait("a full pass", lambda: a.text("applied").count("\n") == 12)
    time.sleep(0.3)
    put(a, "routes/new", "x")
    a.wait("a key that is new", lambda: any(line.startswith("routes/new") and line.endswith(" x") for line in a.text("applied").splitlines()))
    erase(a, "routes/new")
    a.wait("one that is gone", lambda: "routes/new 0" in a.text("applied"))
    goes_on.send_signal(signal.SIGTERM)
    ended(goes_on, 0)


def killed_members(a, b):
    """A member of a group is killed in the middle of a change; another's session is ended. The change comes again, to whoever is there."""
    def member(group, name):
        handler = f"sed s/^/$BELAY_TRIES.{name}./ >>{group}; test $BELAY_TRIES -gt 1 || {{ touch busy-{group}; exec sleep 120; }}"
        return a.start("watch", "-changes", "-prefix=work/", f"-group={group}", handler)

    put(a, "work/a", "1")
    killed, ended_one = member("killed", "one"), member("ended", "one")
    for group in ("killed", "ended"):
        a.wait("it is worked on", lambda: (a.folder / f"busy-{group}").exists())
    next_one = member("killed", "two")
    a.wait("the next one waits", lambda: "waiting, 1" in a.said("claims", "list", "killed/"))
    killed.kill()
    killed.communicate(timeout=limit)
    holder = json.loads(a.ask("GET", "/v1/kv/ended/.lock"))[0]["Session"]
    a.ask("PUT", f"/v1/session/destroy/{holder}")
    yield
    # The session's TTL and the lock delay, 15 s each; a server takes up to twice the TTL.
    a.wait("it comes again to the same member", lambda: "2.one." in a.text("ended"))
    a.wait("it comes again to the next", lambda: "2.two." in a.text("killed"))
    check(a.text("killed").splitlines()[0].startswith("1.one.") and "1.two." not in a.text("killed"), a.text("killed"))
    for process in (ended_one, next_one):
        process.send_signal(signal.SIGTERM)
    _, err = ended_one.communicate(timeout=limit)
    check(ended_one.returncode == 0 and "The session was lost: the change is delivered to another member, or redelivered here" in err, err)
    ended(next_one, 0)


def main():
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        one, other = pathlib.Path(one), pathlib.Path(other)
        with running_server(belay, one) as first, running_server(belay, other) as second:
            a, b = node(belay, first, one), node(belay, second, other)
            slow = killed_members(a, b)
            next(slow)
            for story in (differences, mirrors, reconcilers):
                story(a, b)
            for _ in slow:
                pass
    print(f"differences, mirrors, reconcilers, killed members: {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    main()
