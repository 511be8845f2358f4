"""Opens the page of `ghost serve` in Chromium, generates with two models and looks at both panes.

    python3 tests/browser/serve_page.py build/ghost models/tiny models/tiny-128 [--screenshots DIR]

Speaks the WebDriver protocol to chromedriver with the standard library alone. Everything runs on loopback addresses;
the browser has an empty profile in a temporary folder and is ended with its driver.
"""
import base64
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]


class Browser:
    def __init__(self, port, profile):
        self.base = f"http://127.0.0.1:{port}"
        options = {"args": FLAGS + [f"--user-data-dir={profile}"]}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.base += "/session/" + answer["sessionId"]

    def call(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def run(self, script):
        return self.call("POST", "/execute/sync", {"script": script, "args": []})

    def wait(self, script, what, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(script)
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError(f"{what}: not within {seconds} s; the page says\n{self.run('return document.body.innerText')}")

    def screenshot(self, folder, name):
        if folder:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(base64.b64decode(self.call("GET", "/screenshot")))


def read_until(process, pattern, seconds=60):
    """The match in a line of the process' stderr; the lines come soon after its start."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        line = process.stderr.readline().decode()
        if not line and process.poll() is not None:
            break
        if match := re.search(pattern, line):
            return match
    raise AssertionError(f"the process never said {pattern}")


def check_page(browser, address, screenshots):
    browser.call("POST", "/url", {"url": address})
    browser.wait("return document.querySelectorAll('.pane').length === 2", "two panes")
    facts = browser.run("return [...document.querySelectorAll('.memory')].map(e => e.textContent)")
    assert all(re.match(r"[\d.]+ [kMG]B", fact) for fact in facts), facts
    fits = browser.run("return [...document.querySelectorAll('.fit')].map(e => e.textContent)")
    assert all(re.match(r"[\d,]+", fit) for fit in fits), fits
    browser.run("document.getElementById('tokens').value = 24; document.getElementById('go').click()")
    browser.wait("return !document.getElementById('go').disabled", "the end of both answers")
    texts = browser.run("return [...document.querySelectorAll('.text')].map(e => e.textContent)")
    prompt = browser.run("return document.getElementById('prompt').value")
    for text in texts:
        assert text.startswith(prompt) and len(text) > len(prompt) + 20, texts
    speeds = browser.run("return [...document.querySelectorAll('.speed')].map(e => e.textContent)")
    assert all(re.match(r"24 tokens, the first after \d+ ms$", speed) for speed in speeds), speeds
    rates = browser.run("return [...document.querySelectorAll('.rate')].map(e => e.textContent)")
    assert all(re.fullmatch(r"[\d.]+", rate) for rate in rates), rates
    assert browser.run("return document.querySelectorAll('.error').length") == 0
    outside = browser.run("return performance.getEntriesByType('resource').map(e => new URL(e.name).host)"
                          ".filter(host => host !== location.host)")
    assert outside == [], outside
    for width in (1200, 400):
        browser.call("POST", "/window/rect", {"width": width, "height": 900})
        browser.screenshot(screenshots, f"page-{width}.png")
        # A headless window cannot be narrower than 500 on some systems; what it is counts.
        overflow = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"{width} pixels: the page is {overflow} pixels too wide"
    # Stopping cancels both streams.
    browser.run("document.getElementById('tokens').value = 4000; document.getElementById('go').click()")
    browser.wait("return document.querySelector('.speed').textContent.match(/^[1-9]/)", "a running stream")
    browser.run("document.getElementById('stop').click()")
    browser.wait("return !document.getElementById('go').disabled", "the end after Stop", 20)
    bad = [e["message"] for e in browser.call("POST", "/se/log", {"type": "browser"}) if e["level"] == "SEVERE"
           and "favicon" not in e["message"]]
    assert bad == [], bad


def main(argv):
    screenshots = argv[argv.index("--screenshots") + 1] if "--screenshots" in argv else None
    ghost, model, other = argv[:3]
    server = subprocess.Popen([ghost, "serve", model, "--compare", other, "--listen", "127.0.0.1:0"],
                              stderr=subprocess.PIPE)
    driver = None
    with tempfile.TemporaryDirectory() as profile:
        try:
            address = read_until(server, r"at (http://127\.0\.0\.1:\d+)")[1]
            driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            lines = iter(lambda: driver.stdout.readline().decode(), "")
            port = next(m[1] for line in lines if (m := re.search(r"successfully on port (\d+)", line)))
            browser = Browser(port, profile)
            try:
                check_page(browser, address, screenshots)
            finally:
                browser.call("DELETE", "")
        finally:
            if driver:
                driver.terminate()
                driver.wait(20)
            server.send_signal(signal.SIGTERM)
            code = server.wait(30)
    assert code == 0, f"the server ended with {code}"
    print("the page works: two panes filled, nothing from elsewhere, no overflow")


if __name__ == "__main__":
    main(sys.argv[1:])
