"""Whether a component of Airflow is well: `healthy.py <url> [part ...]`; exit code 0 or 1. The image has no curl.

Every part has to be called healthy by the answer; without parts any good answer will do.
"""

import json
import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=5) as answer:  # noqa: S310 — an address of docker-compose.yaml
    said = answer.read()
sys.exit(0 if all(json.loads(said)[part]["status"] == "healthy" for part in sys.argv[2:]) else 1)
