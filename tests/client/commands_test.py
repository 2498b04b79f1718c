#!/usr/bin/env python3
"""The commands that hold, count and watch, on a real server: what they promise each other.

usage: tests/client/commands_test.py BELAY
"""
import http.server
import json
import pathlib
import signal
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from command_node import check, ended, limit, node
from running_server import running_server

belay = sys.argv[1]


def counters(n):
    """Ten at once: each is counted once, and each sees another number."""
    adders = [n.start("counter", "add", "hits", "3") for _ in range(10)]
    sums = sorted(int(a.communicate(timeout=limit)[0]) for a in adders)
    check(sums == list(range(3, 33, 3)), f"sums {sums}")
    check(n.said("counter", "get", "hits") == "30\n", "the counter")
    n.said("counter", "add", "-min=0", "hits", "-31", code=1)
    check(json.loads(n.said("counter", "get", "-format=json", "hits"))["Number"] == 30, "a refused one is not counted")


def semaphores(n):
    """Permits are never more than there are, and somebody who wants both is not overtaken."""
    one = n.start("semaphore", "-limit=2", "slots", "--", "echo one $BELAY_LOCK_FENCE >>slots; until test -e go; do sleep 0.02; done")
    n.wait("one permit", lambda: "one" in n.text("slots"))
    both = n.start("lock", "-n=2", "-permits=2", "slots", "echo both $BELAY_LOCK_FENCE >>slots")
    n.wait("who waits is listed", lambda: "waiting, 1" in n.said("claims", "list", "slots"))
    late = n.start("semaphore", "-limit=2", "slots", "echo late $BELAY_LOCK_FENCE >>slots")
    n.wait("so is the next", lambda: "waiting, 2" in n.said("claims", "list", "slots"))
    graph = n.said("claims", "graph", "-dot")
    check(graph.startswith("digraph") and graph.count(" -> ") >= 2 and '"claim slots"' in graph, graph)
    check(" waits for claim slots, held by " in n.said("claims", "graph"), "the graph as text")
    (n.folder / "go").touch()
    for process in (one, both, late):
        ended(process, 0)
    lines = [line.split() for line in n.text("slots").splitlines()]
    check([line[0] for line in lines] == ["one", "both", "late"], f"order {lines}")
    fences = [int(line[1]) for line in lines]
    check(fences == sorted(set(fences)), f"fences {fences}")
    check(n.said("claims", "list", "slots") == "", "nothing is left")


def locks(n):
    """Who waits for a lock is served in order, beside a client that takes the same key by the API."""
    session = json.loads(n.ask("PUT", "/v1/session/create", b'{"TTL":"30s"}'))["ID"]
    check(n.ask("PUT", f"/v1/kv/jobs/.lock?acquire={session}&flags=3304740253564472344").startswith("true"), "the API has it")
    waiting = []
    for i in range(3):
        waiting.append(n.start("lock", "jobs", "--", f"echo {i} $BELAY_LOCK_FENCE >>order"))
        n.wait("it queues", lambda: f"waiting, {i + 1}" in n.said("claims", "list", "jobs/"))
    n.said("lock", "-timeout=300ms", "jobs", "echo never >>order", code=1)
    n.ask("PUT", f"/v1/kv/jobs/.lock?release={session}")
    for process in waiting:
        ended(process, 0)
    lines = [line.split() for line in n.text("order").splitlines()]
    check([line[0] for line in lines] == ["0", "1", "2"], f"order {lines}")
    check(int(lines[0][1]) < int(lines[1][1]) < int(lines[2][1]), f"fences {lines}")
    n.said("session", "destroy", session)
    why = n.said("session", "explain", session)
    check("Cause" in why and "destroyed" in why, why)


def shared_locks(n):
    """Readers together, a writer alone, in order; who loses the session loses the command."""
    def begin(name, kind, more="true"):
        return n.start("lock", kind, "-child-exit-code", "schema", "--", f"echo +{name} $BELAY_LOCK_FENCE >>rw; {more}; echo -{name} >>rw")

    until_told = "until test -e read; do sleep 0.02; done"
    readers = [begin("one", "-shared", until_told), begin("two", "-shared", until_told)]
    n.wait("two read", lambda: n.text("rw").count("+") == 2)
    writer = begin("writer", "-exclusive")
    n.wait("the writer waits", lambda: "waiting, 1" in n.said("claims", "list", "schema"))
    late = begin("late", "-shared")
    n.wait("so does a reader behind it", lambda: "waiting, 2" in n.said("claims", "list", "schema"))
    n.said("lock", "-exclusive", "-timeout=300ms", "schema", "echo never >>rw", code=1)
    (n.folder / "read").touch()
    for process in (*readers, writer, late):
        ended(process, 0)
    lines = n.text("rw").splitlines()
    check(sorted(line.split()[0] for line in lines[2:4]) == ["-one", "-two"], f"readers {lines}")
    check([line.split()[0] for line in lines[4:]] == ["+writer", "-writer", "+late", "-late"], f"order {lines}")
    fences = [int(line.split()[1]) for line in lines if line.startswith("+")]
    check(len(set(fences)) == 4 and max(fences[:2]) < fences[2] < fences[3], f"fences {fences}")
    check(n.said("claims", "list", "schema") == "", "nothing is left")

    reader = begin("lost", "-shared", "exec sleep 60")
    n.wait("it reads", lambda: "+lost" in n.text("rw"))
    holder = json.loads(n.ask("GET", "/v1/claim/schema"))["Holders"][0]
    check(holder["Mode"] == "shared", holder)
    n.ask("PUT", f"/v1/session/destroy/{holder['Session']}")
    ended(reader, 2)
    check("-lost" not in n.text("rw"), n.text("rw"))

    first = n.start("semaphore", "-limit=2", "kinds", "echo kinds >>rw; exec sleep 60")
    n.wait("a semaphore of that name", lambda: "kinds" in n.text("rw"))
    other = n.start("lock", "-shared", "kinds", "true")
    out, err = other.communicate(timeout=limit)
    check(other.returncode == 1 and err.startswith("Lock acquisition failed: ") and "semaphore" in err, out + err)
    first.send_signal(signal.SIGTERM)
    ended(first, 0)


def elections(n):
    """A leadership that is transferred by the API: the old leader's command ends, the next one's begins."""
    first = n.start("elect", "-value=first", "-child-exit-code", "boss", "echo first >>led; exec sleep 60")
    n.wait("first leads", lambda: "first" in n.text("led"))
    check("first" in n.said("claims", "list", "boss"), "the value is shown")
    second = n.start("elect", "boss", "--", "echo second >>led; exec sleep 60")
    n.wait("second waits", lambda: "waiting, 1" in n.said("claims", "list", "boss"))
    holder = json.loads(n.ask("GET", "/v1/claim/boss"))["Holders"][0]["ID"]
    n.ask("PUT", f"/v1/claim/boss/transfer?id={holder}")
    ended(first, 2)
    n.wait("second leads", lambda: "second" in n.text("led"))
    second.send_signal(signal.SIGTERM)
    ended(second, 0)
    check(n.said("claims", "list", "boss") == "", "the leadership is free")


def changes(n):
    """Changes are told once and in order, also those of the time when nobody watched; one that fails is told again."""
    def put(key, value):
        n.ask("PUT", f"/v1/kv/{key}", value.encode())

    def told(process, count):
        lines = [json.loads(process.stdout.readline()) for _ in range(count)]
        return [(line["Event"], line["Key"], line.get("Value")) for line in lines]

    put("app/a", "0")
    watch = n.start("watch", "-changes", "-snapshot", "-prefix=app/", "-cursor-file=place")
    check(told(watch, 1) == [("set", "app/a", "MA==")], "the snapshot")
    n.wait("the cursor is stored", lambda: n.text("place") != "")
    put("app/a", "1")
    put("other", "x")
    n.ask("DELETE", "/v1/kv/app/a")
    check(told(watch, 2) == [("set", "app/a", "MQ=="), ("delete", "app/a", None)], "changes")
    before = n.text("place")
    put("app/b", "2")
    check(told(watch, 1) == [("set", "app/b", "Mg==")], "a change")
    n.wait("the cursor advances", lambda: n.text("place") != before)
    watch.send_signal(signal.SIGTERM)
    ended(watch, 0)
    put("app/c", "3")
    put("app/d", "4")
    handler = "cat >>seen; test ! -e failing"
    (n.folder / "failing").touch()
    n.said("watch", "-changes", "-prefix=app/", "-cursor-file=place", handler, code=1)
    (n.folder / "failing").unlink()
    again = n.start("watch", "-changes", "-prefix=app/", "-cursor-file=place", handler)
    n.wait("both are told", lambda: n.text("seen").count("\n") == 3)
    again.send_signal(signal.SIGTERM)
    ended(again, 0)
    check([json.loads(line)["Key"] for line in n.text("seen").splitlines()] == ["app/c", "app/c", "app/d"], n.text("seen"))


def stopped_watch(n):
    """A command that is stopped for seconds finds a change and its timer due at once: it stores no cursor before the change is handled."""
    watch = n.start("watch", "-changes", "-prefix=late/", "-cursor-file=late", "exit 3")
    n.wait("a cursor without a change", lambda: n.text("late") != "")
    watch.send_signal(signal.SIGSTOP)
    before = n.text("late")
    n.ask("PUT", "/v1/kv/late/a", b"1")
    time.sleep(1.5)  # more than its timer of 1 s
    watch.send_signal(signal.SIGCONT)
    ended(watch, 1)
    check(n.text("late") == before, f"{before} became {n.text('late')}")


def lost_snapshot(n):
    """An agent that loses its lock in the middle of a snapshot that does not end leaves it, and ends."""
    class stalls(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.startswith("/v1/snapshot"):
                self.send_response(200)
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                (n.folder / "saves").touch()
                time.sleep(limit)
                return
            self.do_PUT()

        def do_PUT(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = urllib.request.Request(n.url + self.path, data=body if self.command != "GET" else None, method=self.command)
            try:
                with urllib.request.urlopen(request, timeout=limit) as found:
                    self.pass_on(found.status, found.headers, found.read())
            except urllib.error.HTTPError as failed:
                self.pass_on(failed.code, failed.headers, failed.read())

        do_DELETE = do_PUT

        def pass_on(self, status, headers, body):
            self.send_response(status)
            for name, value in headers.items():
                if name.startswith("X-"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), stalls)
    proxy.daemon_threads = True
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    agent = n.start("snapshot", "agent", f"-http-addr=127.0.0.1:{proxy.server_port}")
    n.wait("it saves", lambda: (n.folder / "saves").exists())
    for session in json.loads(n.ask("GET", "/v1/session/list")):
        if "snapshot agent" in session["Name"]:
            n.ask("PUT", "/v1/session/destroy/" + session["ID"])
    begun = time.monotonic()
    _, err = agent.communicate(timeout=limit)
    proxy.shutdown()
    check(agent.returncode == 1 and "The lock was lost" in err, err)
    check(time.monotonic() - begun < limit / 3, "it waited for the snapshot")


def groups(n):
    """Members work through changes together: what fails or is killed comes again, what always fails is put aside, and who leaves is followed."""
    def put(key, value):
        n.ask("PUT", f"/v1/kv/{key}", value.encode())

    def member(name, *more):
        handler = f"sed s/^/$BELAY_TRIES.{name}./ >>worked; . ./trouble; echo $BELAY_CURSOR >>well"
        return n.start("watch", "-changes", "-prefix=orders/", "-group=mailers", "-retry=200ms", "-tries=3", *more, handler)

    def worked():
        """(try, member, event, key) of each line."""
        lines = [line.split(".", 2) for line in n.text("worked").splitlines()]
        told = [(tries, name, json.loads(line)) for tries, name, line in lines]
        return [(tries, name, line["Event"], line.get("Key", "")) for tries, name, line in told]

    (n.folder / "trouble").write_text("true")
    put("orders/a", "1")
    put("orders/b", "1")
    first = member("one")
    n.wait("the keys as they are", lambda: len(worked()) == 3)
    second = member("two")
    n.wait("the second one waits", lambda: "waiting, 1" in n.said("claims", "list", "mailers/"))
    check(worked() == [("1", "one", "snapshot", ""), ("1", "one", "set", "orders/a"), ("1", "one", "set", "orders/b")], worked())

    n.wait("it ends well", lambda: n.text("well").count("\n") == 1)
    for done, trouble in enumerate(("exit 3", "kill -9 $$"), 2):
        (n.folder / "worked").unlink()
        (n.folder / "trouble").write_text(f"rm trouble; echo true >trouble; {trouble}")
        put("orders/a", trouble)
        n.wait("it comes again, and ends well", lambda: n.text("well").count("\n") == done)
        check(worked() == [("1", "one", "set", "orders/a"), ("2", "one", "set", "orders/a")], worked())

    (n.folder / "worked").unlink()
    (n.folder / "trouble").write_text("exit 1")
    put("orders/dead", "letter")
    n.wait("three times", lambda: len(worked()) == 3)
    check([line[0] for line in worked()] == ["1", "2", "3"], worked())
    n.wait("it is put aside", lambda: "mailers/dead/" in n.said("kv", "get", "-keys", "mailers/dead/"))
    check(n.said("kv", "get", "-recurse", "mailers/dead/").find("orders/dead") > 0, "what it was")

    # A command that is stopped in the middle has not done it.
    (n.folder / "worked").unlink()
    (n.folder / "trouble").write_text("touch busy; exec sleep 60")
    put("orders/c", "1")
    n.wait("it is worked on", lambda: (n.folder / "busy").exists())
    (n.folder / "trouble").write_text("true")
    first.send_signal(signal.SIGTERM)
    out, err = first.communicate(timeout=limit)
    check(first.returncode == 0, err)
    check("Error executing handler: exit status 3\nAttempt 1 failed; the change will be redelivered in 200ms\n" in err, err)
    check("The last attempt failed; the change is stored in mailers/dead/" in err, err)
    n.wait("the second one goes on", lambda: len(worked()) == 2)
    check(worked() == [("1", "one", "set", "orders/c"), ("2", "two", "set", "orders/c")], worked())
    n.ask("DELETE", "/v1/kv/orders/c")
    n.wait("a delete", lambda: worked()[2:] == [("1", "two", "delete", "orders/c")])
    second.send_signal(signal.SIGTERM)
    ended(second, 0)
    check(n.said("claims", "list", "mailers/") == "", "nobody has the lock")


def main():
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, running_server(belay, pathlib.Path(folder)) as url:
        n = node(belay, url, pathlib.Path(folder))
        for story in (counters, semaphores, locks, shared_locks, elections, changes, stopped_watch, lost_snapshot, groups):
            story(n)
    print(f"counters, semaphores, locks, shared locks, elections, changes, stopped watch, lost snapshot, groups: {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    main()
