"""Asks with the clients of Python what a plan says, and tells what each made of it. See README.md."""

import os
import queue
import ssl
import sys
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import grpc
import httpx
import requests


def by_urllib(c):
    context = ssl.create_default_context(cafile=c.ca) if c.ca else None

    def ask():
        try:
            with urllib.request.urlopen(c.url, data=c.body, timeout=c.patience, context=context) as answer:
                return f"{answer.status}, {len(answer.read())} bytes"
        except urllib.error.HTTPError as e:
            return f"{e.code}, {len(e.read())} bytes"
        except urllib.error.URLError as e:
            raise e.reason if isinstance(e.reason, BaseException) else e

    return ask


def by_requests(c):
    session = requests.Session()

    def ask():
        answer = session.request(c.method, c.url, data=c.body, timeout=c.patience, verify=c.ca or True)
        return f"{answer.status_code}, {len(answer.content)} bytes"

    return ask


def by_httpx(c):
    verify = ssl.create_default_context(cafile=c.ca) if c.ca else True
    client = httpx.Client(timeout=c.patience, verify=verify, http2=c.protocol == "h2")

    def ask():
        answer = client.request(c.method, c.url, content=c.body)
        return f"{answer.status_code}, {len(answer.content)} bytes"

    return ask


def by_grpc(c):
    call = grpc.insecure_channel(urlsplit(c.url).netloc).unary_unary("/zoo.Prices/Ask")

    def ask():
        answer = call(b"", timeout=c.patience)
        return "OK, None" if answer is None else f"OK, {len(answer)} bytes"

    return ask


# A client that did not come back after so many times its patience is left behind.
GUARD = 6
# So many cases a client is asked at a time.
AT_ONCE = 2

CLIENTS = {"python urllib": by_urllib, "python requests": by_requests, "python httpx": by_httpx, "grpcio": by_grpc}


class Case:
    def __init__(self, line):
        self.id, self.client, self.protocol, patience, self.calls, size, self.ca, self.url = line.rstrip("\n").split("\t")
        self.patience = int(patience) / 1000
        self.body = b"x" * int(size) if size != "0" else None
        self.method = "POST" if self.body else "GET"


def made(c):
    """What a client made of a case: answer, timeout or error, and its text."""
    try:
        ask = CLIENTS[c.client](c)
        if c.calls != "1":
            ask()
        with ThreadPoolExecutor() as pool:
            asked = [pool.submit(ask) for _ in range(2 if c.calls == "1+2" else 1)]
            return "answer", [one.result() for one in asked][0]
    except grpc.RpcError as e:
        return "timeout" if e.code() == grpc.StatusCode.DEADLINE_EXCEEDED else "error", e.code().name
    except Exception as e:  # Whatever it is, a program would see it.
        name = type(e).__name__
        # requests wraps what urllib3 says of a timeout in the body.
        late = isinstance(e, (TimeoutError, requests.Timeout, httpx.TimeoutException)) or "timed out" in str(e)
        return "timeout" if late else "error", name


def turns(cases):
    """Asks one after another. A client that does not come back is left behind."""
    while True:
        try:
            c = cases.get_nowait()
        except queue.Empty:
            return
        told = queue.Queue()
        threading.Thread(target=lambda c=c, told=told: told.put(made(c)), daemon=True).start()
        try:
            said = told.get(timeout=GUARD * c.patience)
        except queue.Empty:
            said = "none", ""
        print(c.id + "\t" + "\t".join(said) + "\n", end="", flush=True)


def ask(cases):
    """Asks all clients, side by side."""
    threads = []
    for name in CLIENTS:
        mine = queue.Queue()
        for c in cases:
            if c.client == name:
                mine.put(c)
        threads += [threading.Thread(target=turns, args=(mine,)) for _ in range(AT_ONCE)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


with open(sys.argv[1], encoding="utf-8") as plan:
    every = [Case(line) for line in plan]
# Those with a long patience warm the clients up.
ask([c for c in every if c.patience > 1])
print("ready", flush=True)
sys.stdin.readline()
ask([c for c in every if c.patience <= 1])
sys.stdout.flush()
os._exit(0)  # Those who were left behind still wait.
