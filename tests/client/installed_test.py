#!/usr/bin/env python3
"""The client library as its users have it: installed into an empty prefix, found by CMake and by pkg-config from a project
outside of the tree, which is built and run; and what the library shows of itself.

usage: tests/client/installed_test.py BUILD_FOLDER BELAY PROJECT
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from running_server import running_server

here = pathlib.Path(__file__).resolve().parent

def run(*command, **more):
    done = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def check(holds, text):
    if not holds:
        sys.exit(text)


def main():
    build, belay, outside = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        prefix = scratch / "prefix"
        run("cmake", "--install", build, "--component", "client", "--prefix", prefix)
        installed = sorted(str(p.relative_to(prefix)) for p in prefix.rglob("*") if not p.is_dir())
        for p in installed:
            check(re.search(r"^include/belay/(loops/)?\w+\.hpp$|^lib/.*(libbelay\.so|belay\.pc$|cmake/belay/)", p), f"installed, too: {p}")
        library = next(prefix.rglob("libbelay.so"))

        soname = re.search(r"soname: \[(.*?)\]", run("readelf", "-d", library)).group(1)
        check(re.fullmatch(r"libbelay\.so\.\d+\.\d+", soname), f"soname {soname}")
        needed = re.findall(r"NEEDED.*\[(.*?)\]", run("readelf", "-d", library))
        check(not any("boost" in n or "caf" in n for n in needed), f"needs {needed}")
        symbols = [line.split(" ", 2)[2] for line in run("nm", "-DC", "--defined-only", library).splitlines()]
        shown = [s for s in symbols if not s.startswith("BELAY_")]
        strangers = [s for s in shown if not s.startswith("belay::v0::")]
        check(not strangers, f"shown, too: {strangers[:10]}")
        check(50 < len(shown) < 400, f"{len(shown)} symbols are shown")

        # The headers alone, without Boost.
        version = run("pkg-config", "--modversion", "belay", env={**os.environ, "PKG_CONFIG_PATH": library.parent / "pkgconfig"}).strip()
        flags = run("pkg-config", "--cflags", "--libs", "belay",
                    env={**os.environ, "PKG_CONFIG_PATH": library.parent / "pkgconfig"}).split()
        source = outside / "main.cpp"
        included = run("g++", "-std=c++20", "-M", source, *[f for f in flags if f.startswith("-I")])
        check("boost" not in included, "a public header includes Boost")
        named = "".join(each.read_text() for each in outside.glob("*.cpp"))
        missing = [p.name for p in (prefix / "include/belay").glob("*.hpp") if f"<belay/{p.name}>" not in named]
        check(not missing, f"no program of {outside} includes {missing}")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
        begun = time.monotonic()
        run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", source, "-o", scratch / "by_pkg_config", *flags)
        took = time.monotonic() - begun
        check(run(scratch / "by_pkg_config", env=environment).strip() == "unavailable", "what is not there answers")

        # The part for actors is installed in addition.
        run("cmake", "--install", build, "--component", "client_caf", "--prefix", prefix)
        for p in sorted(str(p.relative_to(prefix)) for p in prefix.rglob("*") if not p.is_dir()):
            expected = re.search(r"^include/belay/caf/\w+\.hpp$|^lib/.*(libbelay-caf\.so|belay-caf\.pc$|cmake/belay/)", p)
            check(p in installed or expected, f"installed for actors, too: {p}")
        actors = next(prefix.rglob("libbelay-caf.so"))
        symbols = [line.split(" ", 2)[2] for line in run("nm", "-DC", "--defined-only", actors).splitlines()]
        strangers = [s for s in symbols if not s.startswith(("BELAY_", "belay::v0::caf::"))]
        check(not strangers and len(symbols) < 20, f"libbelay-caf.so shows {len(symbols)} symbols; strangers: {strangers[:10]}")
        run("pkg-config", "--cflags", "--libs", "belay-caf", env={**os.environ, "PKG_CONFIG_PATH": library.parent / "pkgconfig"})

        project = scratch / "project"
        run("cmake", "-S", outside, "-B", project, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=None", "-DWITH_CAF=ON",
            "-DWITH_ASIO=ON")
        run("cmake", "--build", project, "--parallel", "2")
        run(project / "outside")
        run(project / "outside_asio")

        with running_server(belay, scratch) as url:
            run(project / "outside", url)
            run(project / "outside_asio", url)
            run(project / "outside_actors", url)
    print(f"belay {version}, {soname}: {len(installed)} files, {len(shown)} symbols; a program compiles in {took:.1f} s")


if __name__ == "__main__":
    main()
