#!/usr/bin/env python3
"""How much memory does one server of Belay, etcd and Consul need with a million keys of 256 bytes,
once filled and after a restart?

usage: bench/key_memory.py --binary build/release/belay --load build/release/load_generator [--etcd PROGRAM] [--consul PROGRAM] [--keys 1000000]

Resident bytes: the private ones of the process, and those of mapped files. They are measured a
while after the last write, so temporary memory does not count. Belay and etcd map their files,
Consul does not.
"""

import argparse
import time

import generator
import peers
from servers import cluster, leader_of, scratch

OTHERS = ("etcd", "consul")
SETTLED = 75  # seconds: Belay writes a checkpoint every 30 s, and returns memory that was free for 16 s, checked every 16 s


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    generator.add_arguments(parser)
    peers.add_arguments(parser, OTHERS)
    parser.add_argument("--keys", type=int, default=1_000_000)
    options = parser.parse_args()
    stores = {"belay": lambda folder: cluster(options.binary, folder, 1, {}), **peers.present(options, 1, OTHERS)}
    taken = {}
    for name, start in stores.items():
        with scratch(options.folder, "key-memory") as (folder, servers):
            servers += start(folder)
            generator.fill(options.load, servers, options.keys)
            time.sleep(SETTLED)
            filled = servers[0].memory()
            servers[0].stop()
            servers[0].start()
            leader_of(servers)
            time.sleep(SETTLED)
            taken[name] = (filled, servers[0].memory())
    print("| | filled, MB | of files | Belay's share | restarted, MB | of files | Belay's share |\n|---|--:|--:|--:|--:|--:|--:|")
    for name, looks in taken.items():
        cells = []
        for (own, mapped), (ours, our_files) in zip(looks, taken["belay"]):
            cells += [f"{(own + mapped) / 1e6:,.0f}", f"{mapped / 1e6:,.0f}", f"{(ours + our_files) / (own + mapped):.2f}"]
        print(f"| {name} | " + " | ".join(cells) + " |")


main()
