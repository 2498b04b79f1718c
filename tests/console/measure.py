#!/usr/bin/env python3
"""Figures of docs/reference/console.md: how soon the first view is there, a folder of 10,000 keys among a million, 1,000 who wait for one lock, 10,000 changes
a second in the tail, and what an open console costs a server that is idle, and one to which 64 clients write (W1 of bench/compare.py).

usage: measure.py BELAY [first] [keys] [claims] [tail] [idle] [load] [load-apart]     default: all of them
load-apart is load with a browser that takes no processor from the server.
The variable BELAY_LOAD names bench's load_generator (default: the one beside BELAY).
"""
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/operators"))
from browser import Browser  # noqa: E402
from console_test import Cluster  # noqa: E402
from example import fill  # noqa: E402

# When the page has its frame, and when its first table.
WATCH = """
globalThis.seenAt = {};
new MutationObserver(() => {
  if (!seenAt.frame && document.querySelector('main h1')) seenAt.frame = performance.now();
  if (!seenAt.table && document.querySelector('main table')) requestAnimationFrame(() => { seenAt.table ||= performance.now(); });
}).observe(document, { childList: true, subtree: true });
"""


def heap(page):
    page.call("HeapProfiler.collectGarbage")
    return page.call("Runtime.getHeapUsage")["usedSize"] / 1e6


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first(browser, server):
    fill(server)
    cold, warm = [], []
    for _ in range(11):
        page = browser.page()
        page.call("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        page.call("Network.clearBrowserCache")
        for times in (cold, warm):
            page.open(f"{server.address}/ui/")
            page.wait("globalThis.seenAt?.table", "the first table")
            times.append(page.run("seenAt.table"))
            page.open("about:blank")
            browser.listen(0.3)
        page.close()
    print(f"first view, the list of locks, ms: without anything in the cache {statistics.median(cold):.0f} (median of {len(cold)}, {min(cold):.0f} to {max(cold):.0f}), "
          f"with the files in it {statistics.median(warm):.0f} ({min(warm):.0f} to {max(warm):.0f})")


def keys(browser, server):
    began = time.monotonic()

    def write(part):
        for folder in range(part, 100, 4):
            for at in range(0, 10_000, 64):
                names = [f"data/{folder:02}/{i:05}" for i in range(at, min(at + 64, 10_000))]
                server.ask("PUT", "/v1/txn", [{"KV": {"Verb": "set", "Key": n, "Value": "MQ=="}} for n in names])

    threads = [threading.Thread(target=write, args=(p,)) for p in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(f"a million keys written in {time.monotonic() - began:.0f} s")
    page = browser.page()
    page.open(f"{server.address}/ui/#/keys/data/")
    page.wait("[...document.querySelectorAll('[role=treeitem]')].some((r) => r.textContent.includes('07/'))", "the folders", 60)
    before = heap(page)
    times = []
    for folder in range(7, 12):
        times.append(page.run(f"""(async () => {{
          const began = performance.now();
          location.hash = '#/keys/data/{folder:02}/';
          const wanted = '{folder:02}/';
          while (![...document.querySelectorAll('[role=treeitem][aria-expanded=true]')].some((r) => r.textContent.includes(wanted))) await new Promise((go) => setTimeout(go, 1));
          await new Promise((go) => requestAnimationFrame(() => setTimeout(go, 0)));
          return performance.now() - began;
        }})()"""))
    print(f"a folder of 10,000 keys among a million, opened, ms: {statistics.median(times):.0f} (median of {len(times)}, {min(times):.0f} to {max(times):.0f}); heap of the page {before:.1f} MB before, {heap(page):.1f} MB with five of them open")
    began = time.monotonic()
    page.open(f"{server.address}/ui/#/locks")
    page.wait_text("No lock is held", 120)
    print(f"the view of locks among a million keys, none of which is locked: {time.monotonic() - began:.1f} s")
    page.close()


def claims(browser, server):
    ids = [json.loads(server.ask("PUT", "/v1/session/create", {"Name": f"w{i}", "LockDelay": "0s"})[1])["ID"] for i in range(1001)]
    for i in ids:
        server.ask("PUT", f"/v1/claim/crowd?session={i}")
    page = browser.page()
    page.open("about:blank")
    page.call("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    page.open(f"{server.address}/ui/#/locks/claim/crowd")
    page.wait("document.querySelectorAll('tr[data-key^=wait]').length >= 100", "the queue")
    began = page.run("performance.now()")
    page.run("[...document.querySelectorAll('button')].find((b) => b.textContent.startsWith('Show')).click()")
    page.wait("document.querySelectorAll('tr[data-key^=wait]').length === 1000", "the whole queue")
    shown = page.run("performance.now()") - began
    page.call("Performance.enable", {"timeDomain": "threadTicks"})
    tasks = lambda: {m["name"]: m["value"] for m in page.call("Performance.getMetrics")["metrics"]}["TaskDuration"]
    busy = tasks()
    browser.listen(10)
    print(f"1,000 who wait: all of them shown within {shown:.0f} ms; heap of the page {heap(page):.1f} MB; it is busy {(tasks() - busy) * 10:.1f} % of the time while nothing happens")
    page.close()


def tail(browser, server):
    page = browser.page()
    page.open(f"{server.address}/ui/#/changes")
    page.wait_text("No changes since")
    stop, written = threading.Event(), [0] * 4

    def write(part):
        n = 0
        while not stop.is_set():
            n += 1
            value = f"{n:08}"
            server.ask("PUT", "/v1/txn", [{"KV": {"Verb": "set", "Key": f"tail/{part}/{i}", "Value": value}} for i in range(64)])
            written[part] += 64

    threads = [threading.Thread(target=write, args=(p,)) for p in range(4)]
    for t in threads:
        t.start()
    browser.listen(3)
    page.call("Performance.enable", {"timeDomain": "threadTicks"})
    tasks = lambda: {m["name"]: m["value"] for m in page.call("Performance.getMetrics")["metrics"]}["TaskDuration"]
    before, busy, began = sum(written), tasks(), time.monotonic()
    browser.listen(10)
    took = time.monotonic() - began
    rate, share = (sum(written) - before) / took, (tasks() - busy) / took
    said = page.run("document.querySelector('.says').textContent")
    stop.set()
    for t in threads:
        t.join()
    print(f"the tail at {rate:,.0f} changes a second: the page says \"{said}\", is busy {share * 100:.0f} % of the time, and its heap is {heap(page):.1f} MB")
    page.close()


def idle(browser, server):
    fill(server)

    def share(seconds):
        before, began = cpu_seconds(server.process), time.monotonic()
        browser.listen(seconds)
        return (cpu_seconds(server.process) - before) / (time.monotonic() - began) * 100

    alone = share(60)
    page = browser.page()
    for view in ("locks/claim/jobs/nightly-backup", "changes", "cluster"):
        page.open(f"{server.address}/ui/#/{view}")
        browser.listen(3)
        print(f"an idle server: {alone:.2f} % of a core alone, {share(60):.2f} % with one console open at {view}")
    page.close()


def make_idle(process):
    """Threads of that process and of those below it run where nobody else wants to: as if they had a machine of their own."""
    for pid in [process.pid, *map(int, subprocess.run(["pgrep", "-g", str(os.getpgid(process.pid))], capture_output=True, text=True).stdout.split())]:
        for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(int(thread.name), os.SCHED_IDLE, os.sched_param(0))


def load(browser, server):
    """In turn without the console and with it, so that what else the machine does hits both; what counts is the ratio of each pair."""
    generator = os.environ.get("BELAY_LOAD") or pathlib.Path(sys.argv[1]).parent / "load_generator"

    def run(workload, **options):
        words = [w for name, value in {"proto": "consul", "server": server.address.removeprefix("http://"), "workload": workload, "keys": 10_000, "pid": server.process.pid, **options}.items() for w in (f"--{name}", str(value))]
        return json.loads(subprocess.run([generator, *words], capture_output=True, text=True, check=True).stdout)

    run("fill", batch=64)
    pages = {view: browser.page() for view in ("locks", "changes")}
    rates, costs = {view: [] for view in pages}, {view: [] for view in pages}
    for n in range(10):
        for view, page in pages.items():
            told = {}
            for opened in (False, True) if n % 2 == 0 else (True, False):
                page.open(f"{server.address}/ui/#/{view}" if opened else "about:blank")
                browser.listen(2)
                told[opened] = run("put", clients=64, seconds=4, warmup=1)
            rates[view].append(told[True]["ops_s"] / told[False]["ops_s"])
            costs[view].append(told[True]["srv_us_op"] / told[False]["srv_us_op"])
            page.open("about:blank")
    for view in pages:
        print(f"64 clients write: with the console open at {view} there are {statistics.median(rates[view]):.3f} times the operations a second (median of {len(rates[view])} pairs, "
              f"{min(rates[view]):.3f} to {max(rates[view]):.3f}), each of {statistics.median(costs[view]):.3f} times the processor time of the server")
        pages[view].close()


def load_apart(browser, server):
    make_idle(browser.process)
    load(browser, server)


def main():
    binary, wanted = sys.argv[1], sys.argv[2:]
    browser = Browser()
    try:
        print(browser.version)
        for test in (first, keys, claims, tail, idle, load, load_apart):
            if wanted and test.__name__.replace("_", "-") not in wanted:
                continue
            with tempfile.TemporaryDirectory(prefix="belay-console-") as folder:
                cluster = Cluster(binary, folder, log_level="WARN")
                try:
                    test(browser, cluster.servers[0])
                finally:
                    cluster.stop()
    finally:
        browser.close()


if __name__ == "__main__":
    main()
