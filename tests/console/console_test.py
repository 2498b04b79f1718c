#!/usr/bin/env python3
"""The console in a real browser: what it shows and does on one server, with tokens, in seven tabs at once, and on three servers while the leader
and the server of the page are killed. Also by keyboard alone; contrast, names of controls and complaints of the browser are looked at in every view.

usage: console_test.py BELAY [--pictures FOLDER]   with the pictures of docs/reference/console.md, which are made anew
"""
import argparse
import base64
import gzip
import http.client
import http.server
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/operators"))
from servers import Server, check, eventually, free_ports  # noqa: E402

import a11y  # noqa: E402
import axe  # noqa: E402
import parts_test  # noqa: E402
from browser import CONTROL, Browser, Failed, Missing  # noqa: E402
from example import begin_delay, fill  # noqa: E402
from small_png import shrink  # noqa: E402

MASTER = "5ec2e700-0000-4000-8000-00000000a5e1"

# Name of the picture, place, a text that is there when all has come.
VIEWS = [
    ("locks", "#/locks/claim/jobs/nightly-backup", "Queue"), ("semaphore", "#/locks/claim/pool/db-connections", "semaphore"),
    ("delay", "#/locks/claim/reports/weekly", "Lock delay"), ("graph", "#/locks/graph", "in a deadlock"),
    ("keys", "#/keys/app/web/config", "History"), ("folder", "#/keys/app/tenants/", "Delete all keys"), ("sessions", "#/sessions", "worker-1"),
    ("services", "#/services/web", "web-2 on"), ("changes", "#/changes", "No changes since"), ("events", "#/events", "deploy"), ("cluster", "#/cluster", "healthy"),
    ("metrics", "#/metrics", "Log sync"), ("tokens", "#/tokens", "ACLs are off"),
]

# Name of a view, the button that opens a dialog there, what the dialog is.
DIALOGS = {"locks": ("Release", "release of a lock"), "semaphore": ("Resize", "limit of a semaphore"), "keys": ("New key", "new key"), "folder": ("Delete all keys", "deletion of a folder"),
           "events": ("Fire an event", "new event")}


class Cluster:
    """One server in memory, or several on disks."""

    def __init__(self, binary, folder, count=1, **config):
        self.binary, self.folder, self.count, self.config = binary, pathlib.Path(folder), count, config
        self.http = free_ports(2 * count)
        self.rpc = [self.http.pop() for _ in range(count)]
        self.servers = [self.start(i) for i in range(count)]
        eventually("a leader", lambda: any(s.leads() for s in self.servers))

    def start(self, i):
        home = self.folder / f"n{i + 1}"
        home.mkdir(parents=True, exist_ok=True)
        config = {"node_name": f"n{i + 1}", "ui": True, "ports": {"http": self.http[i], "server": self.rpc[i], "serf_wan": -1}, "bind_addr": "127.0.0.1",
                  "performance": {"raft_multiplier": 1}, **self.config}
        if self.count > 1:
            config |= {"server": True, "bootstrap_expect": self.count, "data_dir": str(home / "data"), "retry_join": [f"127.0.0.1:{p}" for p in self.rpc]}
        (home / "config.json").write_text(json.dumps(config))
        mode = ["-dev"] if self.count == 1 else []
        return Server(self.binary, [*mode, "-config-file", home / "config.json"], self.http[i], home / "log", self.config.get("acl", {}).get("tokens", {}).get("master", ""))

    def leader(self):
        """The number of the leader in a tuple, None if there is none."""
        for i, s in enumerate(self.servers):
            if s.process.poll() is None:
                status, body = s.ask("GET", "/v1/agent/self")
                if status == 200 and json.loads(body)["Stats"]["consul"]["leader"] == "true":
                    return (i,)
        return None

    def kill(self, i):
        self.servers[i].process.kill()
        self.servers[i].process.wait()

    def stop(self):
        for s in self.servers:
            if s.process.poll() is None:
                s.process.kill()
                s.process.wait()


def complaints(page):
    """What the browser complained of, but for answers of the API that are no success: the page tells those itself."""
    expected = ("status of 401", "status of 403", "status of 404", "status of 410")
    return [c for c in page.complaints if not (c.startswith("network:") and any(e in c for e in expected))]


def click(page, text, scope="body"):
    found = f"[...document.querySelectorAll('{scope} button, {scope} a')].find((b) => b.textContent.trim() === {json.dumps(text)} && b.checkVisibility() && !b.disabled)"
    page.wait(found, f"{text}, to be clicked")
    page.run(f"{found}.click()")


def in_dialog(page, text):
    click(page, text, "dialog[open]")


def go(page, place):
    page.run(f"location.hash = {json.dumps(place)}")


# ---- one server

def every_view(page, base, server, pictures):
    bad = []
    for scheme in ("light", "dark"):
        page.prefers(scheme)
        for name, place, text in VIEWS:
            if name == "delay":
                begin_delay(server)
            page.open(f"{base}/ui/{place}")
            page.wait_text(text)
            if name == "changes":
                for i in range(1, 41):
                    server.ask("DELETE" if i % 7 == 0 else "PUT", f"/v1/kv/app/tenants/tenant-{i:02}/visits", f"{i} {scheme}".encode())  # what does not change a key is no change
                page.wait_text("tenant-40/visits")
            page.browser.listen(1.2 if pictures else 0.3)
            bad += [f"{name}, {scheme}: {p}" for p in a11y.problems(page)]
            bad += [f"{name}, {scheme}: axe: {p}" for p in axe.problems(page)]
            if pictures:
                page.picture(pictures / f"{name}-{scheme}.png")
            if name in DIALOGS:
                button, said = DIALOGS[name]
                click(page, button, "main")
                page.wait("document.querySelector('dialog[open]')", "a dialog")
                bad += [f"{said}, {scheme}: {p}" for p in a11y.problems(page, 4) + axe.problems(page)]
                page.key("Escape")
                page.wait("!document.querySelector('dialog')", "no dialog")
    # So wide is a window of 1,280 pixels at four times its size (WCAG 2.1, 1.4.10).
    page.call("Emulation.setDeviceMetricsOverride", {"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": False})
    begin_delay(server)
    for name, place, text in VIEWS:
        page.open(f"{base}/ui/{place}")
        page.wait_text(text)
        page.browser.listen(0.3)
        bad += [f"{name}, narrow: {p}" for p in a11y.problems(page) if "wider" in p or "scrolls" in p]
    page.call("Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 820, "deviceScaleFactor": 1, "mobile": False})
    check(not bad, f"{len(VIEWS)} views in light and dark can be read and have names{'' if axe.there() else ' (without axe-core)'}" + "".join("\n  " + b for b in bad))


def faults_are_found(page, base):
    """What the checks above are worth: a page that is spoiled in each way that they look for. What is spoiled is a copy of its
    content: the console goes on drawing into the one that it made, which is seen no more."""
    faults = ("contrast:", "no name: a button", "without a caption", "without a scope", "columns of its table", "headings of the first level", "wider than the window")
    page.open(f"{base}/ui/#/cluster")
    page.wait_text("healthy")
    page.run("""(() => {
      const drawn = document.querySelector('main');
      drawn.replaceWith(drawn.cloneNode(true));
      document.querySelector('h1').style.color = '#787878';
      document.querySelector('main button').textContent = '';
      document.querySelector('main table caption').remove();
      document.querySelector('main th').removeAttribute('scope');
      document.querySelector('main tbody tr').lastChild.remove();
      document.querySelector('main').append(document.createElement('h1'));
      document.querySelector('main').style.width = '3000px';
    })()""")
    found, found_by_axe = " | ".join(a11y.problems(page)), " ".join(axe.problems(page))
    page.open("about:blank")
    for fault in faults:
        check(fault in found, f"a page with a fault is found out: {fault}")
    if axe.there():
        check("button-name" in found_by_axe, "axe-core finds it, too")


def files_are_served(server):
    """As browsers ask for them; all through one connection, so that a length that is wrong would be noticed."""
    connection = http.client.HTTPConnection(server.address.removeprefix("http://"), timeout=30)

    def ask(method, path, **headers):
        connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        return answer, answer.read()

    root, _ = ask("GET", "/")
    check((root.status, root.headers["Location"]) == (301, "/ui/"), "/ leads to the console")
    page, text = ask("GET", "/ui/")
    packed, small = ask("GET", "/ui/", Accept_Encoding="gzip")
    check(packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(small) == text, "the page is the same when it is compressed")
    again, nothing = ask("GET", "/ui/", If_None_Match=page.headers["ETag"])
    check((again.status, nothing) == (304, b""), "who has the page is not sent it again")
    head, nothing = ask("HEAD", "/ui/")
    check((head.status, nothing, head.headers["Content-Length"]) == (200, b"", str(len(text))), "HEAD tells how long it is")
    names = re.findall(r'(?:src|href)="([^"]+)"', text.decode())
    kept = [ask("GET", f"/ui/{n}")[0] for n in names]
    check(len(names) == 3 and all(a.status == 200 and "immutable" in a.headers["Cache-Control"] for a in kept), f"{len(names)} files are kept for ever")
    check(all("default-src 'none'" in a.headers["Content-Security-Policy"] for a in [page, *kept]), "each has the policy")
    check(ask("GET", "/ui/nothing")[0].status == 404, "and nothing else is there")


def locks_are_handled(page, base, server, ids):
    page.open(f"{base}/ui/")
    page.wait_text("jobs/nightly-backup")
    check(page.run("location.hash") == "#/locks", "the page begins with the locks")
    page.wait_text("service/web/leader")  # a lock of a key for which nobody waits
    click(page, "jobs/nightly-backup")
    page.wait_text("host-1, pid 4711")
    first, second = ids["worker-1"], ids["worker-4"]  # of larger priority than those who came before it
    page.wait(f"document.querySelector('tr[data-key=\"wait {second}\"] td').textContent === '1'", "worker-4 at place 1")
    fence = int(page.run(f"document.querySelector('tr[data-key=\"{first}\"] td.number').textContent"))
    page.run(f"[...document.querySelectorAll('tr[data-key=\"{first}\"] button')].find((b) => b.textContent === 'Transfer').click()")
    page.wait_text("Copy as curl")
    said = page.text()
    check(f"transfer?id={first}&to={second}" in said and "curl -sS -X PUT" in said, "what will be done is shown as a call of curl")
    in_dialog(page, "Transfer")
    page.wait(f"document.querySelector('tr[data-key=\"{second}\"]')", "worker-4 as the holder")
    held = json.loads(server.ask("GET", "/v1/claim/jobs/nightly-backup")[1])
    check(held["Holders"][0]["Session"] == second and held["Holders"][0]["Fence"] > fence, "a lock was transferred, with a larger fencing token")
    page.run(f"[...document.querySelectorAll('tr[data-key=\"{second}\"] button')].find((b) => b.textContent === 'Release').click()")
    in_dialog(page, "Release")
    page.wait(f"!document.querySelector('tr[data-key=\"{second}\"]')", "worker-4 gone")
    held = json.loads(server.ask("GET", "/v1/claim/jobs/nightly-backup")[1])
    check(held["Holders"][0]["Session"] == ids["worker-2"] and held["QueueLength"] == 2, "a lock was released, and the next in the queue has it")

    go(page, "#/locks/claim/pool/db-connections")
    page.wait_text("4 of 5 taken")
    click(page, "Resize")
    page.run("document.querySelector('dialog input[type=number]').value = ''; document.querySelector('dialog input[type=number]').focus()")
    page.type("6")
    in_dialog(page, "Set")
    page.wait_text("6 of 6 taken")
    check(json.loads(server.ask("GET", "/v1/claim/pool/db-connections")[1])["LimitFixed"], "a semaphore was resized, and who waited has his permits")

    go(page, "#/locks/key/service/web/leader")
    click(page, "Release")
    in_dialog(page, "Release")
    page.wait_text("No session holds or waits for the lock of this key")
    row = json.loads(server.ask("GET", "/v1/kv/service/web/leader")[1])[0]
    check("Session" not in row and row["Value"], "the lock of a key was released, and its value stays")


def keys_by_keyboard(page, base, server):
    page.open(f"{base}/ui/")
    page.wait_text("jobs/")
    page.key("k", CONTROL)
    page.wait("document.querySelector('dialog[open]')", "the list of places")
    page.type("keys")
    page.key("Enter")
    page.wait("document.querySelector('[role=tree]')", "the tree")
    page.wait_text("app/")
    for _ in range(40):
        page.key("Tab")
        if page.run("document.activeElement.getAttribute('role') === 'tree'"):
            break
    check(page.run("document.activeElement.getAttribute('role')") == "tree", "Tab leads to the tree")
    active = "document.getElementById(document.querySelector('[role=tree]').getAttribute('aria-activedescendant')).querySelector('.name').title"
    page.key("Home")
    check(page.run(active) == "app/", "the first row is app/")
    page.key("ArrowRight")
    page.wait_text("tenants/")
    page.key("ArrowRight")
    check(page.run(active) == "app/api/", "the arrow to the right opens a folder, and then goes into it")
    page.key("End")
    page.key("ArrowUp")
    page.key("Home")
    for _ in range(3):
        page.key("ArrowDown")
    check(page.run(active) == "app/web/", "arrows go up and down")
    page.key("ArrowRight")
    page.wait_text("log-level")
    for _ in range(2):
        page.key("ArrowDown")
    page.key("Enter")
    page.wait_text("History")
    check(page.run("location.hash") == "#/keys/app/web/log-level", "Enter chooses a key")
    page.key("ArrowLeft")
    page.key("ArrowLeft")
    page.wait("![...document.querySelectorAll('[role=treeitem]')].some((r) => r.textContent.includes('log-level'))", "a closed folder")

    # A key that comes and goes while one looks.
    server.ask("PUT", "/v1/kv/born/later", b"1")
    page.wait_text("born/")
    server.ask("DELETE", "/v1/kv/born/later")
    page.wait_no_text("born/")
    check(True, "keys come and go in the tree by themselves")


def keys_are_edited(page, base, server, binary):
    go(page, "#/keys/app/web/port")
    page.wait_text("8080")
    click(page, "Edit")
    page.run("document.querySelector('textarea').select()")
    page.type("9090")
    server.ask("PUT", "/v1/kv/app/web/port", b"8181")
    page.wait_text("The key has changed since you began to edit")
    click(page, "Save …")
    page.wait_text("belay kv put")
    check("-cas -modify-index=" in page.text(), "a write is shown as a command of belay, with check-and-set")
    in_dialog(page, "Save")
    page.wait_text("Another client has changed the key")
    sides = page.run("[...document.querySelectorAll('.sides pre')].map((p) => p.textContent)")
    check(sides == ["8181", "9090"], "a conflict shows both values beside each other")
    check(server.ask("GET", "/v1/kv/app/web/port?raw")[1] == "8181", "and nothing was overwritten")
    click(page, "Overwrite with mine …")
    in_dialog(page, "Save")
    page.wait("document.querySelector('pre.value')?.textContent === '9090'", "my value")
    check(server.ask("GET", "/v1/kv/app/web/port?raw")[1] == "9090", "it is written when somebody says so")
    click(page, "Hex")
    page.wait_text("39 30 39 30")
    page.run("[...document.querySelectorAll('tr button')].find((b) => b.textContent === 'Restore').click()")
    page.wait_text("belay kv revert")
    line = page.run("[...document.querySelectorAll('dialog[open] pre')].find((p) => p.textContent.includes('belay')).textContent")
    in_dialog(page, "Cancel")
    done = subprocess.run(["sh", "-c", line.replace("belay kv", f"{binary} kv")], capture_output=True, text=True, timeout=30)
    check(done.returncode == 0, f"a line to copy works in a shell: {line} {done.stderr}")
    page.wait("document.querySelector('pre.value')?.textContent.includes('38 31 38 31')", "the value of before")

    go(page, "#/keys/app/tenants/")
    click(page, "Delete all keys")
    page.wait_text("75 keys")
    check(page.run("document.querySelector('dialog button[type=submit]').disabled"), "a folder is not deleted before somebody has said that he saw what goes")
    page.run("document.querySelector('dialog input[type=checkbox]').click()")
    in_dialog(page, "Delete")
    page.wait("![...document.querySelectorAll('[role=treeitem]')].some((r) => r.textContent.includes('tenants'))", "a tree without the folder")
    check(server.ask("GET", "/v1/kv/app/tenants/?keys")[0] == 404 and server.ask("GET", "/v1/kv/app/web/port")[0] == 200, "a folder was deleted, and nothing else")


# Names that no path can have: a browser takes `.` and `..` out of it, a server empty parts.
ODD_KEYS = ["zzz/../prod/db", "zzz/./x", "zzz//x", "/lead", "app/../x", "..", "zzz/%2e%2e/prod/db", "zzz/q?r#s"]


def odd_keys(page, base, server):
    """What is shown, changed and deleted is the key that the address names, and no other one."""
    def txn(*operations):
        status, body = server.ask("PUT", "/v1/txn", json.dumps([{"KV": o} for o in operations]).encode())[:2]
        if status != 200:
            raise Failed(f"a transaction was answered with {status} {body}")
        return json.loads(body)["Results"] or []

    def value_of(key):
        return base64.b64decode(txn({"Verb": "get", "Key": key})[0]["KV"]["Value"]).decode()

    def names():
        return sorted(json.loads(server.ask("GET", "/v1/kv/?keys")[1]))

    encoded = lambda text: base64.b64encode(text.encode()).decode()
    before = {"prod/db": "production", "zzz/x": "plain", "lead": "plain", "x": "plain"}
    txn(*({"Verb": "set", "Key": k, "Value": encoded(v)} for k, v in before.items()),
        *({"Verb": "set", "Key": k, "Value": encoded("odd " + k)} for k in ODD_KEYS))
    for key in ODD_KEYS:
        go(page, "#/keys/" + "/".join(urllib.parse.quote(part, safe="") for part in key.split("/")))
        page.wait(f"document.querySelector('pre.value')?.textContent === {json.dumps('odd ' + key)}", f"the value of {key}")
        click(page, "Edit")
        page.run("document.querySelector('textarea').value = 'changed'")
        click(page, "Save …")
        in_dialog(page, "Save")
        page.wait("document.querySelector('pre.value')?.textContent === 'changed'", f"the new value of {key}")
        check(value_of(key) == "changed", f"{key} was changed")
    check({k: value_of(k) for k in before} == before, "no other key was changed")
    go(page, "#/keys/zzz/../")
    click(page, "Delete all keys")
    page.wait_text("1 key")
    page.run("document.querySelector('dialog input[type=checkbox]').click()")
    in_dialog(page, "Delete")
    page.wait("!document.querySelector('dialog[open]')", "the end of the deletion")
    there = names()
    check("zzz/../prod/db" not in there and all(k in there for k in [*before, *ODD_KEYS[1:]]), "below zzz/../ one key was deleted, and nothing else")
    for key in ODD_KEYS[1:]:
        go(page, "#/keys/" + "/".join(urllib.parse.quote(part, safe="") for part in key.split("/")))
        page.wait("document.querySelector('pre.value')?.textContent === 'changed'", f"the value of {key}")
        click(page, "Delete")
        in_dialog(page, "Delete")
        page.wait_text("This key does not exist")
    there = names()
    check(not [k for k in ODD_KEYS if k in there], "each odd key was deleted")
    check({k: value_of(k) for k in before} == before, "and no other one")
    for place in ("#/services/..", "#/sessions/..", "#/locks/key/a/../b", "#/locks/claim/a//b"):
        go(page, place)
        page.wait_text("a browser would request another name")
    txn(*({"Verb": "delete", "Key": k} for k in before))


def other_actions(page, base, server, ids):
    go(page, f"#/sessions/{ids['builder']}")
    page.wait_text("locks/deploy")
    click(page, "End session")
    page.wait_text("belay session destroy")
    in_dialog(page, "End session")
    page.wait_text("Recently ended")
    page.wait_text("destroyed")
    check(True, "a session was ended, and the page says why it is gone")
    go(page, "#/events")
    click(page, "Fire an event")
    page.wait("document.querySelector('dialog input')", "a form")
    page.run("document.querySelector('dialog input').focus()")
    page.type("from-the-console")
    in_dialog(page, "Fire")
    page.wait("[...document.querySelectorAll('main th')].some((c) => c.textContent === 'from-the-console')", "the event in the list")
    check("from-the-console" in server.ask("GET", "/v1/event/list")[1], "an event was fired")
    go(page, "#/changes")
    page.wait_text("No changes since")
    server.ask("PUT", "/v1/kv/seen/in/tail", b"1")
    page.wait_text("seen/in/tail")
    check(True, "changes are seen as they happen")


def phone(page, base):
    """At the width of a phone: the selection comes into sight, and every view can be reached."""
    page.call("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 640, "deviceScaleFactor": 1, "mobile": False})
    page.open("about:blank")
    page.open(f"{base}/ui/#/locks")
    page.wait_text("jobs/nightly-backup")
    click(page, "jobs/nightly-backup")
    page.wait("[...document.querySelectorAll('h2')].some((t) => t.textContent === 'jobs/nightly-backup' && t.getBoundingClientRect().top >= 0 && t.getBoundingClientRect().bottom <= innerHeight)",
              "the selected lock in the window")
    check(page.run("[...document.querySelectorAll('nav a')].every((a) => a.getBoundingClientRect().right <= innerWidth)"), "on a phone the selection is in sight, and no view is cut off")
    page.call("Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 820, "deviceScaleFactor": 1, "mobile": False})


def dialogs_end_with_their_view(page):
    go(page, "#/services")
    page.wait_text("Services and checks")
    go(page, "#/events")
    click(page, "Fire an event")
    page.wait("document.querySelector('dialog[open]')", "a dialog")
    page.run("history.back()")
    page.wait_text("Services and checks")
    page.wait("!document.querySelector('dialog')", "no dialog")
    check(True, "Back closes a dialog")


def tail_is_sampled(page, server):
    for n in range(120):
        value = base64.b64encode(str(n).encode()).decode()
        server.ask("PUT", "/v1/txn", [{"KV": {"Verb": "set", "Key": f"many/{i}", "Value": value}} for i in range(64)])
    page.wait_text("Sampled:")
    rows = page.run("document.querySelectorAll('tbody tr').length")
    check(0 < rows <= 200, f"of many changes some are shown, and the page says so ({rows} rows)")


def seven_tabs(browser, base, server):
    pages = [browser.page() for _ in range(7)]
    for p in pages:
        p.open(f"{base}/ui/#/changes")
    for p in pages:
        p.wait_text("Changes")
    time.sleep(1)
    server.ask("PUT", "/v1/kv/to/all/tabs", b"1")
    for p in pages:
        p.wait_text("to/all/tabs")
    streams = [g["Value"] for g in json.loads(server.ask("GET", "/v1/agent/metrics")[1])["Gauges"] if g["Name"].endswith("changes.streams")]
    check(streams == [1], f"seven tabs see a change by one stream: {streams}")
    for p in pages:
        check(not complaints(p), "no complaints of a tab" + "".join("\n  " + c for c in complaints(p)))
        p.close()


def one_server(browser, binary, folder, pictures):
    cluster = Cluster(binary, folder)
    server = cluster.servers[0]
    try:
        ids = fill(server)
        page = browser.page()
        files_are_served(server)
        page.open(server.address)
        page.wait_text("jobs/nightly-backup")
        check(page.run("location.pathname") == "/ui/", "/ leads to the console")
        parts_test.run(page, check)
        page.open(server.address)
        page.wait_text("jobs/nightly-backup")
        every_view(page, server.address, server, pictures)
        faults_are_found(page, server.address)
        page.prefers("light")
        locks_are_handled(page, server.address, server, ids)
        keys_by_keyboard(page, server.address, server)
        keys_are_edited(page, server.address, server, binary)
        odd_keys(page, server.address, server)
        other_actions(page, server.address, server, ids)
        dialogs_end_with_their_view(page)
        phone(page, server.address)
        go(page, "#/changes")
        page.wait_text("No changes since")
        tail_is_sampled(page, server)
        check(not complaints(page), "the browser complains of nothing" + "".join("\n  " + c for c in complaints(page)))
        page.close()
        seven_tabs(browser, server.address, server)
    finally:
        cluster.stop()


# ---- tokens

class Foreign(http.server.BaseHTTPRequestHandler):
    """A page of somebody else."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>foreign</title><iframe name=hidden></iframe>")

    def log_message(self, *_):
        pass


def other_origins(browser, binary, folder):
    """A page of another origin changes nothing, by form, fetch and image; whoever is no browser changes what it did before."""
    own, foreign, usual = (base64.b64encode(bytes([n] * 32)).decode() for n in (1, 2, 3))
    cluster = Cluster(binary, folder, encrypt=own)
    server = cluster.servers[0]
    path = server.address + "/v1/operator/keyring"
    keys = lambda: sorted(json.loads(server.ask("GET", "/v1/operator/keyring")[1])[0]["Keys"])
    try:
        page = browser.page()
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as files:
            threading.Thread(target=files.serve_forever, daemon=True).start()
            for host in ("localhost", "127.0.0.1"):  # another site, and the same one at another port
                page.open(f"http://{host}:{files.server_address[1]}/")
                page.wait("document.title === 'foreign'", "the page of somebody else")
                for body in (json.dumps({"Key": foreign}), json.dumps({"Key": own})):
                    for method in ("POST", "PUT", "DELETE"):
                        for mode in ("no-cors", "cors"):
                            page.run(f"fetch({json.dumps(path)}, {{ method: {json.dumps(method)}, mode: '{mode}', body: {json.dumps(body)} }}).then(() => 0, () => 0)")
                    # text/plain: the body is NAME=VALUE, and the JSON has the sign of equality in it.
                    page.run(f"""(() => {{
                        const form = Object.assign(document.createElement('form'), {{ method: 'POST', enctype: 'text/plain', target: 'hidden', action: {json.dumps(path)} }});
                        const name = {json.dumps(body)};
                        form.append(Object.assign(document.createElement('input'), {{ name: name.slice(0, name.indexOf('=')), value: name.slice(name.indexOf('=') + 1) }}));
                        document.body.append(form);
                        form.submit();
                        return new Promise((done) => setTimeout(done, 300));
                    }})()""")
                page.run(f"new Promise((done) => {{ const i = new Image(); i.onerror = i.onload = () => done(); i.src = {json.dumps(server.address + '/v1/kv/image?acquire=x')}; }})")
                check(keys() == [own], f"a page of {host} has changed no key of the servers")
            files.shutdown()
        check(json.loads(server.ask("GET", "/v1/kv/?keys")[1]) == [], "nor a key of clients")
        check(server.ask("POST", "/v1/operator/keyring", {"Key": usual})[0] == 200 and keys() == sorted([own, usual]), "a client that is no browser adds one")
        page.open(server.address + "/ui/")
        page.wait("document.querySelector('h1')", "the console")
        written = page.run("fetch('/v1/kv/own', { method: 'PUT', body: 'x' }).then((r) => r.status)")
        check(written == 200, f"the console's own origin may write ({written})")
    finally:
        cluster.stop()


def nothing_is_hidden_silently(page, holder, frame):
    """Views of which the token may read nothing, in both themes. @returns problems of accessibility"""
    bad = []
    for scheme in ("dark", "light"):
        page.prefers(scheme)
        for view in ("sessions", "services", "events"):
            go(page, f"#/{view}")
            page.wait_text(f"No {view} that {holder} may read")
            page.wait_text(f"(only those that {holder} may read)")
            page.wait_text(frame)
            if "all passing" in page.text():
                raise Failed("checks that cannot be read are called passing")
        bad += [f"{scheme}: {p}" for p in a11y.problems(page, 8) + axe.problems(page)]
    return bad


def tokens(browser, binary, folder, pictures):
    cluster = Cluster(binary, folder, acl={"enabled": True, "default_policy": "deny", "tokens": {"master": MASTER}})
    server = cluster.servers[0]
    try:
        server.ask("PUT", "/v1/kv/secret/key", b"hidden")
        page = browser.page()
        page.open(f"{server.address}/ui/#/keys")
        page.wait_text("No keys that the anonymous token may read")
        check("secret/" not in page.text(), "without a token no key is shown")
        bad = nothing_is_hidden_silently(page, "the anonymous token", "Not logged in: only what the anonymous token may read is shown")
        check(not bad, "without a token, views say that rows may be hidden" + "".join("\n  " + b for b in bad))
        go(page, "#/tokens")

        def log_in(secret):
            page.wait("document.querySelector('input[type=password]')", "a place for the token")
            page.run("document.querySelector('input[type=password]').focus()")
            page.type(secret)
            page.key("Enter")

        log_in("5ec2e700-0000-4000-8000-0000000000ff")
        page.wait_text("The server does not know this token")
        for view in ("locks", "keys", "sessions", "services", "changes", "events", "cluster", "metrics", "tokens"):
            go(page, f"#/{view}")
            page.wait(f"document.querySelector('nav [aria-current]').hash === '#/{view}'", f"the view {view}")
            page.wait("document.querySelector('main').innerText.includes('The server does not know this token')", f"the reason in {view}")
            page.wait_text("The token of this tab is not accepted")
        check(True, "with a token that the server does not know, each view says so")
        click(page, "Log out")
        page.wait_no_text("The server does not know this token")
        log_in(MASTER)
        page.wait_text("Master Token")
        page.wait_text("global-management")
        if pictures:
            for scheme in ("light", "dark"):
                page.prefers(scheme)
                browser.listen(0.5)
                page.picture(pictures / f"tokens-acl-{scheme}.png")
        bad = a11y.problems(page) + axe.problems(page)
        check(not bad, "the view of tokens can be read and has names" + "".join("\n  " + b for b in bad))
        click(page, "New policy")
        page.wait("document.querySelector('dialog textarea')", "a form")
        page.run("document.querySelector('dialog input').focus()")
        page.type("readers")
        page.run("document.querySelector('dialog textarea').focus()")
        page.type('key_prefix "" { policy = "read" }')
        in_dialog(page, "Create")
        page.wait("[...document.querySelectorAll('main th')].some((c) => c.textContent === 'readers')", "the policy in the list")
        click(page, "New token")
        page.wait("document.querySelector('dialog fieldset')", "the policies")
        page.run("[...document.querySelectorAll('dialog label.choice')].find((l) => l.textContent === 'readers').querySelector('input').click()")
        in_dialog(page, "Create")
        page.wait_text("it is not shown again")
        secret = page.run("document.querySelector('dialog[open] pre').textContent")
        in_dialog(page, "Done")
        # The list of the page is older than a change by another client: saving must not undo that.
        all_tokens = json.loads(server.ask("GET", "/v1/acl/tokens")[1])
        accessor = next(t["AccessorID"] for t in all_tokens if [p["Name"] for p in t.get("Policies") or []] == ["readers"])
        row = f"document.querySelector('tr[data-key=\"{accessor}\"] button')"
        page.wait(row, "the token in the list")
        server.ask("PUT", "/v1/acl/policy", json.dumps({"Name": "later"}).encode())
        server.ask("PUT", f"/v1/acl/token/{accessor}", json.dumps({"Policies": [{"Name": "readers"}, {"Name": "later"}]}).encode())
        page.run(f"{row}.click()")
        page.wait("document.querySelector('dialog[open] fieldset')", "the policies of the token")
        in_dialog(page, "Save")
        page.wait("!document.querySelector('dialog[open]')", "the end of the dialog")
        linked = json.loads(server.ask("GET", f"/v1/acl/token/{accessor}")[1])["Policies"]
        check(sorted(p["Name"] for p in linked) == ["later", "readers"], "saving a token keeps a policy that another client has linked")
        click(page, "Log out")
        page.wait_text("Not logged in")
        log_in(secret)
        page.wait_text("readers")
        bad = nothing_is_hidden_silently(page, "your token", "logged in")
        check(not bad, "with a token for keys only, views say that rows may be hidden" + "".join("\n  " + b for b in bad))
        go(page, "#/keys/secret/key")
        page.wait_text("hidden")
        check("only those that" not in page.text(), "and the view of keys does not, because all are shown")
        click(page, "Delete")
        in_dialog(page, "Delete")
        page.wait_text("Your token does not permit this")
        check(server.ask("GET", "/v1/kv/secret/key")[0] == 200, "a token that may read cannot delete, and the page says so")
        page.key("Escape")
        places = page.run("[location.href, document.cookie, JSON.stringify(localStorage), ...performance.getEntriesByType('resource').map((e) => e.name), document.documentElement.outerHTML].join(' ')")
        check(secret not in places and MASTER not in places, "no secret is in an address, a cookie, what is kept, or the page")
        check(secret in page.run("JSON.stringify(sessionStorage)"), "it is kept in the tab")
        # What cannot be read is refused with 403, which the page tells; nothing else is complained of.
        check(not complaints(page), "the browser complains of nothing" + "".join("\n  " + c for c in complaints(page)))
        page.close()
    finally:
        cluster.stop()


# ---- three servers

def three_servers(browser, binary, folder):
    cluster = Cluster(binary, folder, 3)
    try:
        (leader,) = eventually("a leader", cluster.leader)
        mine = (leader + 1) % 3
        eventually("all servers are healthy", lambda: json.loads(cluster.servers[leader].ask("GET", "/v1/operator/autopilot/health")[1])["Healthy"])
        server = cluster.servers[mine]
        server.ask("PUT", "/v1/kv/app/a", b"1")
        page = browser.page()
        page.open(f"{server.address}/ui/#/cluster")
        page.wait_text("3 servers, all healthy")
        levels = page.run("[...document.querySelectorAll('tr[data-key] td:nth-last-child(2)')].map((c) => c.textContent)")
        check(len(levels) == 3 and len(set(levels)) == 1 and levels[0].isdigit(), f"the feature level of each server is shown: {levels}")
        began = time.monotonic()
        cluster.kill(leader)
        page.wait(r"/term \d+: n\d elected/.test(document.body.innerText)", "a new leader", 40)
        page.wait_text("not all healthy", 40)
        page.wait_text("not connected", 40)
        check(True, f"the leader was killed: the page says who leads now and who is away, after {time.monotonic() - began:.1f} s")
        third = 3 - leader - mine
        if server.ask("PUT", "/v1/session/create", {"Name": "seen-before"})[0] != 200:
            raise Failed("no session can be created")
        other = browser.page()
        other.open(f"{server.address}/ui/#/sessions")
        other.wait_text("seen-before")
        cluster.kill(third)
        page.wait_text("The cluster has no leader", 20)
        page.wait_text("No leader: health unknown", 20)
        rows = page.run("[...document.querySelectorAll('tr[data-key] th')].map((c) => c.firstChild.textContent).sort()")
        check(rows == ["n1", "n2", "n3"], f"without a leader the last known servers are shown: {rows}")
        other.wait_text("The cluster has no leader", 20)
        browser.listen(9)  # longer than a server waits for a leader before it fails a read
        check("seen-before" in other.text(), "and the last known sessions")
        other.close()
        cluster.servers[third] = cluster.start(third)
        page.wait_no_text("The cluster has no leader", 40)
        check(True, "without a majority the page says that there is no leader, until there is one")
        go(page, "#/keys")
        page.wait_text("app/")
        server.ask("PUT", "/v1/kv/after/the/election", b"1")
        page.wait_text("after/")
        check(True, "changes come after the election")

        cluster.servers[leader] = cluster.start(leader)
        eventually("the server is back", lambda: cluster.servers[leader].ask("GET", "/v1/agent/ready")[0] == 200)
        cluster.kill(mine)
        page.wait_text("This server has not answered", 20)
        check("app/" in page.text(), "the server of the page was killed: the page says so and shows what it knew")
        cluster.servers[leader].ask("PUT", "/v1/kv/while/away", b"1")
        cluster.servers[mine] = cluster.start(mine)
        page.wait_no_text("This server has not answered", 40)
        page.wait_text("while/", 40)
        check(True, "it goes on when the server is back, and has what happened meanwhile")
        refused = [c for c in complaints(page) if "ERR_" not in c and "status of 50" not in c]
        check(not refused, "the browser complains of nothing but of a server that is away" + "".join("\n  " + c for c in refused))
        page.close()
    finally:
        cluster.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("belay")
    parser.add_argument("--pictures", type=pathlib.Path)
    a = parser.parse_args()
    if a.pictures:
        a.pictures.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        browser = Browser()
    except Missing as e:
        raise SystemExit(f"NOT SO: the console can be tested\n{e}")
    try:
        print(browser.version, flush=True)
        for test in (one_server, other_origins, tokens, three_servers):
            with tempfile.TemporaryDirectory(prefix="belay-console-") as folder:
                try:
                    test(browser, a.belay, folder, *([a.pictures] if test in (one_server, tokens) else []))
                except Failed as e:
                    raise SystemExit(f"NOT SO: {e}")
    finally:
        browser.close()
    for picture in a.pictures.glob("*.png") if a.pictures else []:
        picture.write_bytes(shrink(picture.read_bytes()))
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
