"""Runs the load generator (bench/load) against the servers of a measurement."""

import json
import statistics
import subprocess
import sys
import tempfile
import time

from servers import leader_of


def add_arguments(parser):
    parser.add_argument("--binary", required=True, help="the belay program")
    parser.add_argument("--load", required=True, help="the load_generator program")
    parser.add_argument("--seconds", type=float, default=2, help="of each run (default 2)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind, whose median counts (default 3)")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the scratch data goes; a real disk")


def run(program, servers, workload, **options):
    """What the generator says of one run against the leader. Times in microseconds; `wrong` counts what was not as it must be."""
    leader = leader_of(servers)
    port = leader.https_port if options.get("tls") else leader.http_port
    command = [program, "--proto", leader.protocol, "--server", f"127.0.0.1:{port}", "--workload", workload]
    for server in servers:
        command += ["--pid", str(server.process.pid)]
    for name, value in options.items():
        command += ["--" + name.replace("_", "-"), str(value)]
    limit = 300 + 2 * options.get("seconds", 0)  # seconds; a million keys are written in less than one minute
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"the load generator did not end within {limit} s: {' '.join(command)}") from None
    if done.returncode != 0:
        raise SystemExit(f"the load generator failed: {' '.join(command)}")
    result = json.loads(done.stdout)
    result["wrong"] = int(sum(result.get(name, 0) for name in ("errors", "violations", "incomplete")))
    if result["wrong"]:
        print(f"{workload}: {result['wrong']} wrong, first: {result.get('first_error', 'see its JSON')}", file=sys.stderr)
    return result


def fill(program, servers, keys, vsize=256, prefix="bench", **how):
    """Writes the keys that put, get, mixed, txn and list use. Waits for servers that have a leader but do not yet accept writes."""
    batch = max(1, min(64, (256 << 10) // vsize, keys))  # 64 operations of a transaction and half a megabyte are everybody's limits
    end = time.monotonic() + 30
    while True:
        result = run(program, servers, "fill", clients=16, keys=keys, vsize=vsize, prefix=prefix, batch=batch, **how)
        if not result["wrong"]:
            return
        if time.monotonic() > end:
            raise SystemExit("filling failed: " + result.get("first_error", ""))
        time.sleep(0.5)


def median(results, name):
    """The median over runs of one field; "lat_us.p50" is a field of a field. NaN without runs."""
    values = []
    for result in results:
        for part in name.split("."):
            result = result[part]
        values.append(result)
    return statistics.median(values) if values else float("nan")


def figure(value):
    """Three digits or more."""
    if value != value:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
