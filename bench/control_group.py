"""Shares of a processor for processes of a measurement."""

import contextlib
import os


def write(group, name, text):
    with open(os.path.join(group, name), "w") as file:
        file.write(text)


@contextlib.contextmanager
def processor_share(share):
    """Makes a control group whose processes get that share of one processor, in slices of 20 ms.
    Returns the path of its list of processes. Those that are left at the end go back to the group
    above. Needs root."""
    name = f"belay-bench-{os.getpid()}"
    first, second = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"
    above = first if os.path.isdir(first) else second
    group = os.path.join(above, name)
    processes = os.path.join(group, "cgroup.procs")
    os.mkdir(group)
    try:
        if above == first:
            write(group, "cpu.cfs_period_us", "20000")
            write(group, "cpu.cfs_quota_us", str(int(20000 * share)))
        else:
            write(group, "cpu.max", f"{int(20000 * share)} 20000")
        yield processes
    finally:
        with open(processes) as left:
            for pid in left.read().split():
                with contextlib.suppress(OSError):
                    write(above, "cgroup.procs", pid)
        os.rmdir(group)
