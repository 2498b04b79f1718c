#!/usr/bin/env python3
"""How fast is `belay kv import`? For comparison, the same server gets the same keys in the same
transactions from a plain loop over one connection, and some of them one by one, as `consul kv
import` sends them.

usage: bench/kv_import.py --binary build/release/belay [--keys 200000] [--nodes 1] [--rounds 3] [--folder /var/tmp]

The three take turns, with new keys each time; medians count. Exits with status 1 if the import
writes less than half as many keys per second as the loop of transactions, or less than five times
as many as one by one, or if a key is missing or wrong afterwards.
"""
import argparse
import base64
import http.client
import json
import os
import statistics
import subprocess
import sys
import time

from servers import cluster, leader_of, scratch

OPERATIONS = 64  # per transaction, as in cli/commands/kv_transfer.cpp
PREFIX = "import/"


def exported(count):
    value = base64.b64encode(b"v" * 32).decode()
    return [{"key": f"{PREFIX}{i:07}", "flags": i % 3, "value": value} for i in range(count)]


def asked(server, requests):
    """Seconds for the requests, in sequence over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=30)
    begun = time.monotonic()
    for path, body in requests:
        connection.request("PUT", path, body)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"PUT {path}: {answer.status} {text[:200]}")
    took = time.monotonic() - begun
    connection.close()
    return took


def transactions(keys):
    """Makes the bodies before the measurement starts."""
    out = []
    for i in range(0, len(keys), OPERATIONS):
        operations = [{"KV": {"Verb": "set", "Key": k["key"], "Value": k["value"], "Flags": k["flags"]}} for k in keys[i : i + OPERATIONS]]
        out.append(("/v1/txn", json.dumps(operations)))
    return out


def one_by_one(keys):
    return [(f"/v1/kv/{k['key']}?flags={k['flags']}", base64.b64decode(k["value"])) for k in keys]


def imported(binary, server, file):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CONSUL_", "BELAY_"))}
    begun = time.monotonic()
    subprocess.run([binary, "kv", "import", f"-http-addr=127.0.0.1:{server.http_port}", "@" + file], check=True, stdout=subprocess.DEVNULL,
                   env=environment)
    return time.monotonic() - begun


def removed(server):
    status, body = server.ask("DELETE", f"/v1/kv/{PREFIX}?recurse", limit=60)
    if status != 200:
        raise SystemExit(f"the keys cannot be removed: {status} {body[:200]}")


def differences(server, keys):
    """The number of missing or wrong keys."""
    status, body = server.ask("GET", f"/v1/kv/{PREFIX}?recurse", limit=60)
    found = {r["Key"]: (r["Flags"], r["Value"]) for r in json.loads(body)} if status == 200 else {}
    return sum(found.get(k["key"]) != (k["flags"], k["value"]) for k in keys) + max(0, len(found) - len(keys))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", required=True)
    options.add_argument("--keys", type=int, default=200_000)
    options.add_argument("--nodes", type=int, default=1)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--folder", default="/var/tmp")
    o = options.parse_args()
    keys = exported(o.keys)
    single = keys[: max(500, o.keys // 100)]  # one by one is slow: a hundredth suffices
    bodies = transactions(keys)
    rates, wrong = {"import": [], "transactions": [], "one by one": []}, []
    with scratch(o.folder, "kv_import") as (folder, servers):
        servers += cluster(o.binary, folder, o.nodes, {})
        leader = leader_of(servers)
        file = os.path.join(folder, "keys.json")
        with open(file, "w") as out:
            json.dump(keys, out)
        for _ in range(o.rounds):
            rates["transactions"].append(len(keys) / asked(leader, bodies))
            removed(leader)
            rates["import"].append(len(keys) / imported(o.binary, leader, file))
            missing = differences(leader, keys)
            if missing:
                wrong.append(f"{missing} keys are not as they were imported")
            removed(leader)
            rates["one by one"].append(len(single) / asked(leader, one_by_one(single)))
            removed(leader)
    median = {name: statistics.median(all_) for name, all_ in rates.items()}
    for name, rate in median.items():
        print(f"{name:14} {rate:9,.0f} keys/s   {' '.join(f'{r:,.0f}' for r in rates[name])}")
    by_transactions, by_keys = median["import"] / median["transactions"], median["import"] / median["one by one"]
    print(f"an import is {by_transactions:.2f} times as fast as the loop of transactions, {by_keys:.1f} times as one key after the other")
    if by_transactions < 0.5:
        wrong.append("the import is less than half as fast as the same transactions from a plain loop")
    if by_keys < 5:
        wrong.append("the import is less than five times as fast as one key after the other")
    for each in wrong:
        print("WRONG: " + each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
