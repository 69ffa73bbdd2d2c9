"""Asks each address with the client of Python's library, and tells what it made of it."""

import sys
import urllib.error
import urllib.request

PATIENCE = 1.0


def told(url):
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return f"answer {answer.status}, {len(answer.read())} bytes"
    except urllib.error.HTTPError as e:
        return f"answer {e.code}, {len(e.read())} bytes"
    except urllib.error.URLError as e:
        return f"error {type(e.reason).__name__}"
    except Exception as e:  # Whatever it is, a program would see it.
        return f"error {type(e).__name__}"


for url in sys.argv[1:]:
    print(url, "python urllib", told(url), sep="\t", flush=True)
