"""Runs the load generator (bench/load) against the servers of a measurement."""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import counting
from servers import leader_of


def add_arguments(parser):
    parser.add_argument("--binary", required=True, help="the belay program")
    parser.add_argument("--load", required=True, help="the load_generator program")
    parser.add_argument("--seconds", type=float, default=2, help="of each run (default 2)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind, whose median counts (default 3)")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the scratch data goes; a real disk")


def command_line(program, servers, workload, options):
    leader = leader_of(servers)
    port = leader.https_port if options.get("tls") else leader.http_port
    command = [program, "--proto", leader.protocol, "--server", f"127.0.0.1:{port}", "--workload", workload]
    for server in servers:
        command += ["--pid", str(server.process.pid)]
    for name, value in options.items():
        command += ["--" + name.replace("_", "-"), str(value)]
    return command


def run(program, servers, workload, window=None, **options):
    """The generator's output for one run against the leader. Times in microseconds; `wrong` counts
    incorrect responses.
    @param window what counts at the servers (counting.Window): its figures are in the result, also
    per operation"""
    command = command_line(program, servers, workload, {**options, "counters": 1} if window else options)
    limit = 300 + 2 * options.get("seconds", 0)  # seconds; a million keys are written in less than one minute
    generator = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    late = threading.Event()
    watchdog = threading.Timer(limit, lambda: (late.set(), generator.kill()))
    watchdog.start()
    counts, said = {}, ""
    try:
        with generator:
            for line in generator.stdout:
                if line == "begin\n":
                    window.begin()
                elif line == "end\n":
                    counts = window.end()
                else:
                    said += line
                    continue
                generator.stdin.write("\n")
                generator.stdin.flush()
    except BaseException:
        generator.kill()
        raise
    finally:
        watchdog.cancel()
    if late.is_set():
        raise SystemExit(f"the load generator did not end within {limit} s: {' '.join(command)}")
    if generator.returncode != 0:
        raise SystemExit(f"the load generator failed: {' '.join(command)}")
    result = {**json.loads(said), **counts}
    for name, count in counts.items():
        result[name + "_op"] = count / result["ops"] if count is not None and result["ops"] else None
    result["wrong"] = int(sum(result.get(name, 0) for name in ("errors", "violations", "incomplete")))
    if result["wrong"]:
        print(f"{workload}: {result['wrong']} wrong, first: {result.get('first_error', 'see its JSON')}", file=sys.stderr)
    return result


def fill(program, servers, keys, vsize=256, prefix="bench", **how):
    """Writes the keys that put, get, mixed, txn and list use. Waits while servers have a leader but
    do not accept writes yet."""
    batch = max(1, min(64, (256 << 10) // vsize, keys))  # 64 operations per transaction and half a megabyte are accepted by every store
    end = time.monotonic() + 30
    while True:
        result = run(program, servers, "fill", clients=16, keys=keys, vsize=vsize, prefix=prefix, batch=batch, **how)
        if not result["wrong"]:
            return
        if time.monotonic() > end:
            raise SystemExit("filling failed: " + result.get("first_error", ""))
        time.sleep(0.5)


def median(results, name):
    """The median of one field over the runs that have it; "lat_us.p50" is a field of a field. NaN
    if none has."""
    values = []
    for result in results:
        for part in name.split("."):
            result = result[part]
        if result is not None:
            values.append(result)
    return statistics.median(values) if values else float("nan")


def figure(value):
    """Three digits or more."""
    if value != value:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
