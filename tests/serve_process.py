"""`ghost serve` as a process: its text is that of `ghost generate`, signals end it cleanly, states survive a restart.

    python3 tests/serve_process.py build/ghost models/tiny
"""
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

PROMPTS = ["Once upon a time", "The old man", "It was the best of times, it was the worst of times; " * 8]


class Server:
    def __init__(self, ghost, model, *options):
        self.process = subprocess.Popen([ghost, "serve", model, "--listen", "127.0.0.1:0", "--json", *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for line in iter(self.process.stderr.readline, b""):
            if match := re.search(rb"at (http://127\.0\.0\.1:\d+)", line):
                self.address = match[1].decode()
                return
        raise AssertionError("the server did not start")

    def ask(self, path, body=None, key=None):
        request = urllib.request.Request(self.address + path, data=json.dumps(body).encode() if body else None)
        if key:
            request.add_header("Authorization", "Bearer " + key)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def end(self, by=signal.SIGTERM):
        self.process.send_signal(by)
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, self.process.returncode
        return json.loads(out)


def complete(server, prompt, tokens=24):
    return server.ask("/v1/completions", {"prompt": prompt, "max_tokens": tokens, "temperature": 0})["choices"][0]["text"]


def check_text_is_that_of_generate(ghost, model):
    """Also while other requests run in the same batch."""
    expected = [json.loads(subprocess.run([ghost, "generate", model, "--prompt", prompt, "--max-tokens", "24", "--json"],
                                          check=True, stdout=subprocess.PIPE).stdout)["text"] for prompt in PROMPTS]
    server = Server(ghost, model)
    found = {}

    def client(i):
        found[i] = complete(server, PROMPTS[i % len(PROMPTS)])

    threads = [threading.Thread(target=client, args=(i,)) for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, text in found.items():
        assert text == expected[i % len(PROMPTS)], (i, text, expected[i % len(PROMPTS)])
    result = server.end(signal.SIGINT)
    assert result["schema"] == "ghost.serve/1" and result["requests"] == 24, result


def check_saved_states(ghost, model):
    with tempfile.TemporaryDirectory() as folder:
        first = Server(ghost, model, "--save-states", folder)
        text = complete(first, PROMPTS[2])
        assert first.end()["saved_states"] >= 1
        second = Server(ghost, model, "--save-states", folder)
        assert complete(second, PROMPTS[2]) == text
        result = second.end()
        assert result["cached_tokens"] > 50 and result["prompt_tokens"] == 0, result


def check_key(ghost, model):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("word\n")
        file.flush()
        server = Server(ghost, model, "--api-key-file", file.name)
        assert server.ask("/v1/models", key="word")["data"][0]["id"]
        try:
            server.ask("/v1/models", key="other")
            raise AssertionError("a wrong key was accepted")
        except urllib.error.HTTPError as error:
            assert error.code == 401
        server.end()


def main(ghost, model):
    check_text_is_that_of_generate(ghost, model)
    check_saved_states(ghost, model)
    check_key(ghost, model)
    bad = subprocess.run([ghost, "serve", model, "--listen", "nowhere"], stderr=subprocess.PIPE)
    assert bad.returncode == 64 and b"--listen" in bad.stderr, bad


if __name__ == "__main__":
    main(*sys.argv[1:3])
