"""A headless Chromium, spoken to by the WebDriver protocol: plain HTTP and JSON."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ARROW_RIGHT, ARROW_LEFT, END, TAB = "\ue014", "\ue012", "\ue010", "\ue004"
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing():
    """Whether this machine has no browser to test with."""
    return not (shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One window of a headless Chromium; close it with ``quit``."""

    def __init__(self, *, width=1200, height=900, dark=False):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._at = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--window-size={width},{height}", *(["--force-dark-mode"] if dark else [])]  # fmt: skip
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        for _ in range(100):
            try:
                self._call("GET", "/status")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._at += f"/session/{answer['sessionId']}"

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._at + path, data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]

    def open(self, path):
        self._call("POST", "/url", {"url": path.as_uri()})

    def run(self, script, *arguments):
        """Run the body of a JavaScript function and return what it returns."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def press(self, selector, *keys):
        """Type into an element, as a keyboard does."""
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{found[_ELEMENT]}/value", {"text": "".join(keys)})
        self.settle()

    def click(self, selector):
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{found[_ELEMENT]}/click", {})
        self.settle()

    def settle(self):
        """Wait until what was asked for has been drawn."""
        wait = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(1)))"
        self._call("POST", "/execute/async", {"script": wait, "args": []})

    def errors(self):
        """Return what the console said since it was last asked, but for what is only informative."""
        lines = self._call("POST", "/se/log", {"type": "browser"})
        return [line["message"] for line in lines if line["level"] in ("SEVERE", "WARNING")]

    def quit(self):
        try:
            self._call("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.wait(10)
