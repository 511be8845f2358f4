"""What kept prefix states save: the time to the first token of requests that share 1000 tokens, on a running server.

    ghost serve MODEL --listen 127.0.0.1:8080
    python3 tests/interop/serve_prefix.py 8080

Not part of ctest: it measures. Every round has a prefix of its own; the medians of the rounds are printed.
"""
import http.client
import json
import random
import statistics
import sys
import time

PREFIX, QUESTION, ROUNDS = 1000, 16, 5


def first_token(port, path, body):
    """Seconds from the request to its first event."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    body = dict(body, stream=True, max_tokens=2, temperature=0, ignore_eos=True)
    begin = time.perf_counter()
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    line = answer.readline()
    seconds = time.perf_counter() - begin
    assert answer.status == 200 and line.startswith(b"data: {"), (answer.status, line)
    answer.read()
    connection.close()
    return seconds


def completions(port, rng):
    def ids(count):
        return [rng.randrange(100, 3000) for _ in range(count)]
    shared, question = ids(PREFIX), ids(QUESTION)
    prompts = [shared + question, shared + ids(QUESTION), shared + ids(QUESTION), shared + question]
    return [first_token(port, "/v1/completions", {"prompt": prompt}) for prompt in prompts]


def chat(port, rng):
    system = " ".join(rng.choice(["the", "and", "day", "old", "man", "sea", "is", "was"]) for _ in range(PREFIX))
    return [first_token(port, "/v1/chat/completions", {"messages": [
        {"role": "system", "content": system}, {"role": "user", "content": question}]})
        for question in ("Who?", "And why was that?")]


def main(port):
    rng = random.Random()
    for name, run, words in (("completions", completions, ["first", "second", "third", "first again"]),
                             ("chat, shared system message", chat, ["first", "second"])):
        rounds = [run(port, rng) for _ in range(ROUNDS)]
        medians = [statistics.median(times) for times in zip(*rounds)]
        print(f"{name}: " + ", ".join(f"{word} {1e3 * t:.1f} ms ({medians[0] / t:.1f} x)"
                                      for word, t in zip(words, medians)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
