"""A headless Chromium, driven over the DevTools protocol by its pipe: nothing but Debian's `chromium` and Python's own library is needed."""
import base64
import itertools
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time


class Missing(Exception):
    """Chromium cannot be found or started."""


class Failed(Exception):
    """Something that was waited for did not come."""


KEYS = {
    "Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), " ": (32, " "), "ArrowUp": (38, ""), "ArrowDown": (40, ""),
    "ArrowLeft": (37, ""), "ArrowRight": (39, ""), "Home": (36, ""), "End": (35, ""), "PageDown": (34, ""),
}
SHIFT, CONTROL = 8, 2


class Browser:
    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if program is None:
            raise Missing("there is no chromium here: tools/install-dependencies installs it")
        self.folder = tempfile.TemporaryDirectory(prefix="belay-console-")
        to_browser, self.to = os.pipe()
        self.answers, from_browser = os.pipe()
        os.set_inheritable(to_browser, True)
        os.set_inheritable(from_browser, True)

        def as_three_and_four():
            # Chromium reads commands from descriptor 3 and writes answers to 4; either may be in the way of the other.
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        flags = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb",
                 "--hide-scrollbars", "--lang=en-GB", f"--user-data-dir={self.folder.name}", "about:blank"]
        self.log = open(pathlib.Path(self.folder.name) / "log", "w+")
        self.process = subprocess.Popen([program, *flags], preexec_fn=as_three_and_four, close_fds=False, stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.numbers = itertools.count(1)
        self.rest = b""
        self.listeners = {}  # of sessions of pages
        try:
            self.version = self.call("Browser.getVersion", wait=60)["product"]
        except Failed as e:
            self.log.seek(0)
            raise Missing(f"{program} does not start: {e}\n{self.log.read()[-2000:]}") from e

    def close(self):
        try:
            self.call("Browser.close", wait=10)
            self.process.wait(10)
        except (Failed, OSError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        self.log.close()
        time.sleep(0.2)
        shutil.rmtree(self.folder.name, ignore_errors=True)

    def page(self, width=1280, height=820, scale=1):
        return Page(self, width, height, scale)

    def call(self, method, parameters=None, session=None, wait=30):
        number = next(self.numbers)
        said = {"id": number, "method": method, "params": parameters or {}}
        if session:
            said["sessionId"] = session
        data = json.dumps(said).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        end = time.monotonic() + wait
        while True:
            message = self._message(end - time.monotonic())
            if message is None:
                raise Failed(f"{method}: no answer in {wait} s")
            if message.get("id") == number:
                if "error" in message:
                    raise Failed(f"{method}: {message['error']}")
                return message["result"]

    def listen(self, seconds):
        """Takes in what pages tell without having been asked."""
        end = time.monotonic() + seconds
        while self._message(end - time.monotonic()) is not None:
            pass

    def _message(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                return None
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise Failed("the browser has ended")
            self.rest += piece
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        listener = self.listeners.get(message.get("sessionId"))
        if listener and "method" in message:
            listener(message["method"], message["params"])
        return message


class Page:
    def __init__(self, browser, width, height, scale):
        self.browser = browser
        # In a window of its own: a tab behind another one is hidden, and asks for nothing.
        target = browser.call("Target.createTarget", {"url": "about:blank", "newWindow": True})["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        self.complaints = []  # of the console: errors, what a policy refused, exceptions
        browser.listeners[self.session] = self._heard
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})

    def _heard(self, method, p):
        if method == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.complaints.append(f"exception: {d.get('exception', {}).get('description', d['text'])}")
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.complaints.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{p['entry']['source']}: {p['entry']['text']} {p['entry'].get('url', '')}")

    def call(self, method, parameters=None, wait=30):
        return self.browser.call(method, parameters, self.session, wait)

    def close(self):
        self.browser.listeners.pop(self.session, None)
        self.browser.call("Target.closeTarget", {"targetId": self.target})

    def open(self, url):
        self.call("Page.navigate", {"url": url})

    def run(self, expression):
        """The value of a JavaScript expression, a promise's when it is there."""
        r = self.call("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True, "userGesture": True})
        if "exceptionDetails" in r:
            raise Failed(f"{expression}: {r['exceptionDetails'].get('exception', {}).get('description', r['exceptionDetails'])}")
        return r["result"].get("value")

    def wait(self, expression, what, seconds=15):
        """Until that is true, or anything that counts as such."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.run(f"Boolean({expression})"):
                    return
            except Failed as e:
                if "context" not in str(e) and "navigat" not in str(e):
                    raise
            self.browser.listen(0.05)
        raise Failed(f"not seen in {seconds} s: {what}. The page says:\n{self.text()[:3000]}")

    def text(self):
        return self.run("document.body ? document.body.innerText : ''") or ""

    def wait_text(self, text, seconds=15):
        self.wait(f"document.body && document.body.innerText.includes({json.dumps(text)})", json.dumps(text), seconds)

    def wait_no_text(self, text, seconds=15):
        self.wait(f"!document.body.innerText.includes({json.dumps(text)})", f"no {json.dumps(text)}", seconds)

    def key(self, key, modifiers=0):
        code, text = KEYS[key] if key in KEYS else (ord(key.upper()), key)
        p = {"key": key, "windowsVirtualKeyCode": code, "code": f"Key{key.upper()}" if len(key) == 1 and key.isalpha() else key, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", **p, **({"text": text} if text and not modifiers & CONTROL else {})})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **p})

    def type(self, text):
        self.call("Input.insertText", {"text": text})

    def picture(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"}, wait=60)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def prefers(self, scheme):
        self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]})
