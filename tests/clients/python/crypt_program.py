"""crypt, the program of the library that viper reads remote configuration with. usage: crypt_program.py CRYPT"""
import pathlib
import subprocess
import sys
import tempfile

from cases import HOST, PORT, case, equal


def crypt(verb, *arguments):
    done = subprocess.run([sys.argv[1], verb, "-plaintext", "-backend", "consul", "-endpoint", f"{HOST}:{PORT}", *arguments], capture_output=True, text=True,
                          timeout=30)
    return done.returncode, done.stdout.strip() or done.stderr.strip()


@case("set and get")
def set_and_get():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "config.json"
        for text in ('{"a": 1}', '{"a": 2}'):
            file.write_text(text)
            equal(crypt("set", "/app/config.json", str(file))[0], 0)
            equal(crypt("get", "/app/config.json"), (0, text))


@case("a key that is not there")
def missing():
    code, text = crypt("get", "/none")
    assert code != 0 and "not found" in text.lower(), (code, text)


print("done")
