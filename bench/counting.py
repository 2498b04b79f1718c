"""Counts what the servers did during a run: committed entries, syncs of the disk, bytes written."""

import os
import re
import signal
import subprocess
import tempfile
import time

from servers import leader_of


class Window:
    """Entries, syncs and bytes between begin() and end(). Bytes are all writes of the data disk, by
    any process: the count of one process (`write_bytes`, proc(5)) has a whole folio of the page
    cache for each page. Syncs come from a server's own metrics, or with `strace` from its system
    calls. The latter counts those of every program, also for its checkpoints, but slows down
    each call of the server, so times are wrong."""

    def __init__(self, servers, strace=False):
        self.servers, self.leader, self.strace = servers, leader_of(servers), strace
        self.traces = []

    def begin(self):
        self.traces = [Trace(s.process.pid) for s in self.servers] if self.strace else []
        self.before = self.read()

    def end(self):
        """{"commits": of the leader, "syncs": the mean of the servers, "disk_bytes": of all}; None:
        unknown."""
        after = self.read()
        commits, syncs, disk_bytes = (None if None in (b, a) else a - b for b, a in zip(self.before, after))
        if self.traces:
            syncs = sum(trace.stop() for trace in self.traces)
        return {"commits": commits, "syncs": None if syncs is None else syncs / len(self.servers), "disk_bytes": disk_bytes}

    def read(self):
        syncs = [] if self.strace else [s.syncs() for s in self.servers]
        return self.leader.committed(), sum(syncs) if syncs and None not in syncs else None, written_to_disk_of(self.leader.data)


def written_to_disk_of(folder):
    """Bytes written by the block device of that folder since boot; None: it has none, or none that
    is counted."""
    device = os.stat(folder).st_dev
    with open("/proc/diskstats") as counters:
        for fields in map(str.split, counters):
            if (int(fields[0]), int(fields[1])) == (os.major(device), os.minor(device)):
                return int(fields[9]) * 512  # sectors: proc_diskstats(5), for every disk
    return None


class Trace:
    """The syncs of one process and all its threads, by strace."""

    CALLS = "fsync,fdatasync,msync"

    def __init__(self, pid, limit=20):
        self.out = tempfile.NamedTemporaryFile(mode="r")
        self.said = tempfile.TemporaryFile()
        command = ["strace", "-f", "-c", "-U", "calls,name", "-e", "trace=" + self.CALLS, "-o", self.out.name, "-p", str(pid)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.said)
        threads, end = len(os.listdir(f"/proc/{pid}/task")), time.monotonic() + limit
        while self.attached() < threads:  # it prints one line for each
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit("strace does not attach: " + self.text())
            time.sleep(0.02)

    def text(self):
        self.said.seek(0)
        return self.said.read().decode(errors="replace")

    def attached(self):
        said = self.text()
        return max([said.count(" attached")] + [int(n) for n in re.findall(r"attached with (\d+) threads", said)])

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        calls = 0
        for line in self.out:
            fields = line.split()
            if len(fields) == 2 and fields[0].isdecimal() and fields[1] in self.CALLS.split(","):
                calls += int(fields[0])
        self.out.close()
        self.said.close()
        return calls
