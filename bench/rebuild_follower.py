#!/usr/bin/env python3
"""A follower of three loses its disk under load and is rebuilt: how long it takes, and how it
affects the leader's writers. See README.md."""

import argparse
import base64
import multiprocessing
import select
import signal
import tempfile
import threading
import time
from array import array

from connection import Connection, percentile, request, whole_answer
from servers import bytes_on_disk, cluster, leader_of, scratch

OPERATIONS_OF_A_TRANSACTION = 64


def connections_at_work(port, count, next_request, accept, go_on):
    """`count` connections, each of which sends next_request() after each response, until go_on() is
    false or it returns None."""
    epoll, open_ones = select.epoll(), {}
    for _ in range(count):
        data = next_request()
        if data is None:
            break
        connection = Connection(port)
        open_ones[connection.socket.fileno()] = [connection, time.monotonic()]
        epoll.register(connection.socket.fileno(), select.EPOLLIN)
        connection.socket.sendall(data)
    last = time.monotonic()
    while open_ones:
        ready = epoll.poll(1)
        if not ready and time.monotonic() - last > 60:
            raise SystemExit("no answer on any connection for 60 s")
        for descriptor, _ in ready:
            state = open_ones[descriptor]
            connection = state[0]
            more = connection.socket.recv(65536)
            if not more:
                raise SystemExit("the server closed a connection")
            connection.buffer += more
            answer = whole_answer(connection.buffer)
            if not answer:
                continue
            last = time.monotonic()
            status, begin, end = answer
            accept(state[1], last, status, connection.buffer[begin:end])
            del connection.buffer[:end]
            data = next_request() if go_on() else None
            if data is None:
                epoll.unregister(descriptor)
                connection.close()
                del open_ones[descriptor]
            else:
                state[1] = last
                connection.socket.sendall(data)


def fill(port, keys, value_bytes, first, step):
    """Every step-th transaction, from the first: together the processes write each key once."""
    value = base64.b64encode(b"v" * value_bytes).decode()
    begins = iter(range(first * OPERATIONS_OF_A_TRANSACTION, keys, step * OPERATIONS_OF_A_TRANSACTION))

    def next_request():
        begin = next(begins, None)
        if begin is None:
            return None
        sets = (
            '{"KV":{"Verb":"set","Key":"fill/%07d","Value":"%s"}}' % (i, value) for i in range(begin, min(keys, begin + OPERATIONS_OF_A_TRANSACTION))
        )
        return request("PUT", "/v1/txn", ("[" + ",".join(sets) + "]").encode())

    def accept(_begun, _ended, status, body):
        if status != 200:
            raise SystemExit(f"filling: status {status}: {bytes(body[:200])}")

    connections_at_work(port, 8, next_request, accept, lambda: True)


def write(port, connections, value_bytes, who, stop, results):
    """Plain writes until told to stop. Sends back end time and duration of each, and the rejected
    ones."""
    value, ended, took, refused, count = b"w" * value_bytes, array("d"), array("d"), {}, 0

    def next_request():
        nonlocal count
        count += 1
        return request("PUT", "/v1/kv/write/%d/%05d" % (who, count % 20000), value)

    def accept(begun, end, status, body):
        if status == 200 and body.startswith(b"true"):
            ended.append(end)
            took.append((end - begun) * 1000)
        else:
            refused[status] = refused.get(status, 0) + 1

    connections_at_work(port, connections, next_request, accept, lambda: not stop.is_set())
    results.send((ended.tobytes(), took.tobytes(), refused))
    results.close()


class Memory(threading.Thread):
    """Samples a server's private memory every half second; returns the maximum between two moments."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.seen, self.over = server, [], threading.Event()

    def run(self):
        while not self.over.wait(0.5):
            self.seen.append((time.monotonic(), self.server.memory()[0]))

    def highest(self, begin, end):
        return max((own for t, own in self.seen if begin <= t <= end), default=0)


def wait_caught_up(follower, leader, limit):
    """Waits until the follower has applied what the leader had applied when queried just before.
    Returns when it first responded, and when it had caught up; None: not within the limit."""
    end, answering = time.monotonic() + limit, None
    while time.monotonic() < end:
        theirs = leader.raft()
        ours = follower.raft()
        if ours and theirs:
            answering = answering or time.monotonic()
            if ours["applied_index"] >= theirs["applied_index"] > 0:
                return answering, time.monotonic()
        time.sleep(0.1)
    return answering, None


def same_digest(servers, limit=60):
    """Waits until all servers show a digest of the same applied index: (index, digests)."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        states = [s.raft() for s in servers]
        if all(states) and len({r["applied_index"] for r in states}) == 1 and all(r["state_digest_at"] == r["applied_index"] for r in states):
            return states[0]["applied_index"], [r["state_digest"] for r in states]
        time.sleep(0.3)
    raise SystemExit(f"the servers never showed the same index: {states}")


def report(name, samples, begin, end):
    inside = [(t, ms) for t, ms in samples if begin <= t < end]
    took = sorted(ms for _, ms in inside)
    times = [begin] + [t for t, _ in inside] + [end]
    gap = max(b - a for a, b in zip(times, times[1:])) * 1000
    seconds = [0] * max(1, int(end - begin))
    for t, _ in inside:
        if int(t - begin) < len(seconds):
            seconds[int(t - begin)] += 1
    print(
        f"| {name} | {end - begin:.1f} s | {len(inside) / (end - begin):.0f} | {min(seconds)} | {percentile(took, 0.5):.1f} ms "
        f"| {percentile(took, 0.99):.1f} ms | {percentile(took, 0.999):.1f} ms | {took[-1] if took else float('nan'):.1f} ms | {gap:.0f} ms |"
    )


def measure(options, servers):
    leader = leader_of(servers)
    follower = next(s for s in servers if s is not leader)
    begin = time.monotonic()
    fillers = [
        multiprocessing.Process(target=fill, args=(leader.http_port, options.keys, options.value_bytes, i, options.processes))
        for i in range(options.processes)
    ]
    for filler in fillers:
        filler.start()
    for filler in fillers:
        filler.join()
        if filler.exitcode != 0:
            raise SystemExit("filling failed")
    filled = time.monotonic() - begin
    print(f"filled {options.keys} keys of {options.value_bytes} bytes in {filled:.1f} s ({options.keys / filled:.0f} keys/s)", flush=True)
    end = time.monotonic() + 120
    while True:  # quiet: the checkpoints of the filling are written
        states = [s.raft() for s in servers]
        if all(r and r["last_snapshot_index"] == r["applied_index"] for r in states):
            break
        if time.monotonic() > end:
            print("(the checkpoints after the filling did not end within 120 s)")
            break
        time.sleep(0.5)
    own, mapped = leader.memory()
    print("leader after filling: %.0f MB of its own, %.0f MB of mapped files; data directory %.0f MB" % (own / 1e6, mapped / 1e6, bytes_on_disk(leader.data) / 1e6), flush=True)

    stop, pipes, writers = multiprocessing.Event(), [], []
    for i in range(options.processes):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        share = options.writers // options.processes + (i < options.writers % options.processes)
        writers.append(multiprocessing.Process(target=write, args=(leader.http_port, share, options.value_bytes, i, stop, theirs), daemon=True))
        writers[-1].start()
        theirs.close()
        pipes.append(ours)
    memory = Memory(leader)
    memory.start()
    time.sleep(3)
    before = time.monotonic()
    time.sleep(options.seconds)

    killed = time.monotonic()
    follower.stop(signal.SIGKILL)
    follower.wipe()
    time.sleep(options.down)
    started = time.monotonic()
    follower.start()
    answering, caught_up = wait_caught_up(follower, leader, options.limit)
    in_time = caught_up is not None
    caught_up = caught_up or time.monotonic()
    if in_time:
        time.sleep(options.seconds)
    ended = time.monotonic()
    stop.set()
    samples, refused = [], {}
    for pipe in pipes:
        t, ms, r = pipe.recv()
        samples += zip(array("d", t), array("d", ms))
        for status, count in r.items():
            refused[status] = refused.get(status, 0) + count
    for writer in writers:
        writer.join()
    memory.over.set()
    samples.sort()
    quiet_after = None if in_time else wait_caught_up(follower, leader, 60)[1]
    same_leader = leader_of(servers) is leader
    index, digests = same_digest(servers)

    print(f"\n{options.writers} writers at the leader, values of {options.value_bytes} bytes\n")
    print("| | lasted | writes/s | worst second | p50 | p99 | p99.9 | worst | longest time without any |")
    print("|---|---|---|---|---|---|---|---|---|")
    report("three servers, before", samples, before, killed)
    report("follower down", samples, killed, started)
    report("follower is rebuilt", samples, started, caught_up)
    if in_time:
        report("three servers, after", samples, caught_up, ended)
    what = f"caught up {caught_up - started:.1f} s after its start" if in_time else f"NOT CAUGHT UP within {options.limit:.0f} s of this load"
    print(f"\nrebuilt: answering {answering - started:.1f} s, {what}; snapshots installed: {len(follower.log_lines('state received from the leader'))}")
    if not in_time:
        print(f"caught up {quiet_after - ended:.1f} s after the load had ended" if quiet_after else "NOT CAUGHT UP without load either")
    print(
        "most memory of the leader's own: %.0f MB before, %.0f MB while rebuilding, %.0f MB after; of the follower at the end: %.0f MB"
        % (
            memory.highest(before, killed) / 1e6,
            memory.highest(started, caught_up) / 1e6,
            memory.highest(caught_up, ended) / 1e6,
            follower.memory()[0] / 1e6,
        )
    )
    print("data directories: " + ", ".join("%.0f MB" % (bytes_on_disk(s.data) / 1e6) for s in servers))
    print(f"refused or unknown writes: {refused or 0}; same leader throughout: {'yes' if same_leader else 'no'}")
    print(f"digests at index {index}: {'equal' if len(set(digests)) == 1 else 'DIFFERENT'} {digests}")
    if len(set(digests)) != 1 or not in_time:
        raise SystemExit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="the belay program")
    parser.add_argument("--keys", type=int, default=1000000)
    parser.add_argument("--value-bytes", type=int, default=256)
    parser.add_argument("--writers", type=int, default=64)
    parser.add_argument("--processes", type=int, default=2, help="of the load generator")
    parser.add_argument("--seconds", type=float, default=15, help="load before the failure, and again after the rebuild")
    parser.add_argument("--down", type=float, default=2, help="seconds before the follower is started again")
    parser.add_argument("--trailing-logs", type=int, default=0, help="raft_trailing_logs of the servers (default: theirs)")
    parser.add_argument("--limit", type=float, default=120, help="seconds in which it has to catch up")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the scratch data goes (a real disk, 3 GB)")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    options = parser.parse_args()
    with scratch(options.folder, "rebuild_follower", options.keep) as (folder, servers):
        if options.keep:
            print("folder:", folder)
        config = {"limits": {"http_max_conns_per_client": options.writers + 200}}
        if options.trailing_logs:
            config["raft_trailing_logs"] = options.trailing_logs
        servers += cluster(options.binary, folder, 3, config)
        measure(options, servers)


if __name__ == "__main__":
    main()
