#!/usr/bin/env python3
"""Runs the programs of examples/ beside a server.

usage: tests/client/examples_test.py BUILD_FOLDER BELAY
"""
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

from running_server import running_server


def check(holds, text):
    if not holds:
        sys.exit(text)


def put(url, key, value):
    with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/kv/{key}", data=value.encode(), method="PUT"), timeout=10) as answer:
        answer.read()


def get(url, key):
    with urllib.request.urlopen(f"{url}/v1/kv/{key}?raw", timeout=10) as answer:
        return answer.read().decode()


def main():
    build = pathlib.Path(sys.argv[1])

    def begin(name, *arguments):
        return subprocess.Popen([build / f"example_{name}", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    with tempfile.TemporaryDirectory() as folder, running_server(sys.argv[2], pathlib.Path(folder)) as url:
        # Five machines start the job; one does it.
        jobs = [begin("cron_job", url, "report") for _ in range(5)]
        said = [job.communicate(timeout=60)[0] for job in jobs]
        check(all(job.returncode == 0 for job in jobs), f"cron_job: {said}")
        check(sorted(text.splitlines()[-1] for text in said) == ["done"] + ["done already"] * 4, f"cron_job: {said}")

        # One of two leads; when it stops, the other one does.
        first = begin("leader_worker", url, "indexer", "one", "2")
        put(url, "conf/colour", "red")
        cache = begin("config_cache", url, "conf/", "colour", "4")
        leads = first.stdout.readline()
        second = begin("leader_worker", url, "indexer", "two", "4")
        time.sleep(1.5)
        put(url, "conf/colour", "blue")
        said = cache.communicate(timeout=60)[0].split()
        check(said == ["red", "blue"], f"config_cache: {said}")

        said = [(before + worker.communicate(timeout=60)[0]).splitlines() for before, worker in ((leads, first), ("", second))]
        fences = [int(lines[0].rpartition(" ")[2]) for lines in said]
        check(said[0][0].startswith("one leads") and "one works" in said[0], f"leader_worker: {said}")
        check(said[1][0].startswith("two leads") and "two works" in said[1] and fences[0] < fences[1], f"leader_worker: {said}")

        limits = [begin("rate_limit", url, "calls", "3", "12") for _ in range(2)]
        said = [limit.communicate(timeout=60)[0] for limit in limits]
        check(all(limit.returncode == 0 for limit in limits), f"rate_limit: {said}")
        check(all(text.startswith("12 served") for text in said), f"rate_limit: {said}")

        # It dies between two services; the next order undoes the step that was done, and the one that may have been.
        died = begin("order_service", url, "order-1", "2")
        said = died.communicate(timeout=60)[0]
        check(died.returncode == 9, f"order_service: {said}")
        placed = begin("order_service", url, "order-2")
        said = placed.communicate(timeout=60)[0]
        check(placed.returncode == 0 and said.splitlines()[-1] == "order-2: placed", f"order_service: {said}")
        state = {key: get(url, f"shop/{key}") for key in ("stock/order-1", "payment/order-1", "stock/order-2", "payment/order-2", "delivery/order-2")}
        expected = {key: "undone" if key.endswith("1") else "ordered" for key in state}
        check(state == expected, f"order_service: {state}")
        check(said.index("payment: order-1 undone") < said.index("stock: order-1 undone"), f"order_service: {said}")

        # One after another, and one that is stopped leaves at once.
        loops = [begin("own_loop", url, "compaction", "3") for _ in range(2)]
        said = [loop.communicate(timeout=60)[0].splitlines() for loop in loops]
        check(all(loop.returncode == 0 and len(lines) == 4 and lines[-1] == "done" for loop, lines in zip(loops, said)), f"own_loop: {said}")
        fences = [{line.rpartition(" ")[2] for line in lines[:3]} for lines in said]
        check(all(len(f) == 1 for f in fences) and fences[0] != fences[1], f"own_loop: {said}")
        endless = begin("own_loop", url, "compaction", "100000")
        endless.stdout.readline()
        told = time.monotonic()
        endless.terminate()
        endless.communicate(timeout=60)
        check(endless.returncode == 1 and time.monotonic() - told < 10, f"own_loop: {endless.returncode}")
        next_one = begin("own_loop", url, "compaction", "1").communicate(timeout=60)[0]
        check(next_one.endswith("done\n"), f"own_loop: {next_one}")
    print("examples: cron_job, config_cache, rate_limit, leader_worker, order_service, own_loop")


if __name__ == "__main__":
    main()
