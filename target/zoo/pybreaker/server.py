"""A quote service. GET /quote asks the dependency behind the circuit breaker; it knows nothing of faultline."""

import http.client
import json
import os
import threading
import urllib.parse
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pybreaker

DEPENDENCY = urllib.parse.urlsplit(os.environ["DEPENDENCY_URL"])
STATE_LOG = os.environ.get("STATE_LOG")
NAMES = {"closed": "CLOSED", "open": "OPEN", "half-open": "HALF_OPEN"}
PATIENCE = 2  # seconds


class Told(pybreaker.CircuitBreakerListener):
    """Writes the breaker's own changes of state down, each with its instant."""

    def state_change(self, cb, old_state, new_state):
        if STATE_LOG:
            with open(STATE_LOG, "a", encoding="utf-8") as log:
                print(datetime.now(timezone.utc).isoformat(timespec="microseconds"), NAMES[new_state.name], file=log)


breaker = pybreaker.CircuitBreaker(fail_max=5, reset_timeout=0.6, listeners=[Told()])
kept = threading.local()  # a connection for each thread, which serves one caller


def ask(headers):
    """Asks the dependency once; any other status than 200, and any broken connection, is an error."""
    connection = getattr(kept, "connection", None)
    if connection is None:
        connection = kept.connection = http.client.HTTPConnection(DEPENDENCY.hostname, DEPENDENCY.port, timeout=PATIENCE)
    try:
        connection.request("GET", "/quote", headers=headers)
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        raise
    if response.status != 200:
        raise RuntimeError(f"the dependency answered {response.status}")


class Quotes(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        source = "dependency"
        if self.path == "/quote":
            relayed = {name: self.headers[name] for name in ("traceparent", "x-request-id") if name in self.headers}
            try:
                breaker.call(ask, relayed)
            except Exception:  # the breaker's refusal, too
                source = "fallback"
        body = json.dumps({"source": source}, separators=(",", ":")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


Server(("127.0.0.1", int(os.environ["PORT"])), Quotes).serve_forever()
