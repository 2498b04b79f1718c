#!/usr/bin/env python3
"""The simulator kit as its users have it: installed beside the client library into an empty prefix; a project that belay-sim-new makes is
built outside of the tree, finds its bug by the seed, tells the story, and passes once the bug is repaired.

usage: tests/client/simulator_kit_test.py BUILD_FOLDER
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# The first seed of the sample that breaks the rule, and the rule.
SEED = 25
RULE = "pages of two runs are not mixed"


def run(*command, exit_code=0, **more):
    done = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != exit_code:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def check(holds, text):
    if not holds:
        sys.exit(text)


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        prefix = scratch / "prefix"
        run("cmake", "--install", build, "--component", "client", "--prefix", prefix)
        of_client = {p for p in prefix.rglob("*") if not p.is_dir()}
        run("cmake", "--install", build, "--component", "sim", "--prefix", prefix)
        installed = {p for p in prefix.rglob("*") if not p.is_dir()} - of_client
        for p in (str(p.relative_to(prefix)) for p in installed):
            check(re.search(r"^include/belay/sim\.hpp$|^bin/belay-sim-new$|^share/belay/sim-project/|"
                            r"^lib/.*(libbelay-sim\.a|belay-sim\.pc|cmake/belay/belay-sim\.cmake)$", p), f"installed, too: {p}")
        flags = run("pkg-config", "--libs", "belay-sim", env={**os.environ, "PKG_CONFIG_PATH": next(prefix.rglob("belay-sim.pc")).parent})
        check("-lbelay-sim" in flags and "-lbelay " in flags, f"pkg-config: {flags}")

        make = prefix / "bin/belay-sim-new"
        run(make, exit_code=64)
        run(make, "no good", exit_code=64)
        project = scratch / "my-lock"
        run(make, "my-lock", project)
        run(make, "my-lock", project, exit_code=74)
        job = project / "nightly_job.hpp"
        fixed = scratch / "fixed"
        run("cp", "-r", project, fixed)
        text = job.read_text().replace("sends_fence = false", "sends_fence = true")
        check(text != job.read_text(), "the bug is not where it was")
        (fixed / "nightly_job.hpp").write_text(text)
        for each in (project, fixed):
            run("cmake", "-S", each, "-B", each / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=None")
            run("cmake", "--build", each / "build")

        broken, repaired = project / "build/my-lock", fixed / "build/my-lock"
        check(RULE in run(broken, "--seed", SEED, exit_code=1), "another rule was broken")
        shrunk = run(broken, "--shrink", "--seed", SEED, "--save", scratch / "small", exit_code=1)
        story = [line for line in shrunk.splitlines() if re.match(r" *\d+\.\d{6} ", line)]
        check(5 < len(story) <= 30 and "BROKEN: always: " + RULE in story[-1], f"no story of at most 30 lines:\n{shrunk}")
        run(broken, "--replay", scratch / "small", exit_code=1)
        run(repaired, "--seed", SEED, "--twice")
        run(repaired, "--replay", scratch / "small")
        run(repaired, "--seeds", "0..20", "--twice")
    print(f"simulator kit: {len(installed)} files; seed {SEED} shrinks to {len(story)} lines")


if __name__ == "__main__":
    main()
