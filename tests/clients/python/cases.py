"""What the drivers of this folder print: a line for each case, and `done` at the end."""
import os
import time
import traceback

HOST, PORT = os.environ["CONSUL_HTTP_ADDR"].split(":")
PORT = int(PORT)


def case(name):
    """Runs the function at once, as a case of that name."""
    def run(function):
        try:
            function()
            print(f"ok {name}", flush=True)
        except Exception as e:  # whatever a client raises is its result
            line = [at.lineno for at in traceback.extract_tb(e.__traceback__) if at.filename == function.__code__.co_filename][-1]
            print(f"FAILED {name}: line {line}, " + repr(e).replace("\n", " "), flush=True)
        return function
    return run


def equal(got, wanted):
    assert got == wanted, f"{got!r} is not {wanted!r}"


def eventually(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)
