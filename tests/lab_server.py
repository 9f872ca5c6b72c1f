"""A real JupyterLab on loopback, and notebooks for it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.error import URLError
from urllib.request import urlopen

from browser import chromium as browser_of

WAIT_MS = 180_000
FOLLOWED = "before => [...document.querySelectorAll('.ex-panel')].every((one, at) => one.dataset.drawn !== before[at])"


def notebook(sources):
    cells = [
        {"cell_type": "code", "id": str(at), "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for at, source in enumerate(sources)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})


@contextmanager
def lab(folder, token="", command=("jupyterlab",), prefix=""):
    """JupyterLab on loopback, started by a module that takes its options after `prefix`; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "JUPYTER_CONFIG_DIR": str(folder / "config"), "JUPYTERLAB_SETTINGS_DIR": str(folder / "set")}
    options = ["--no-browser", f"--port={port}", f"--IdentityProvider.token={token}", "--allow-root"]
    options += [f"--ServerApp.root_dir={folder}", "--LabApp.news_url=None"]
    program = [sys.executable, "-m", *command, *(f"{prefix}{one}" for one in options)]
    with subprocess.Popen(program, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(600):
                try:
                    urlopen(f"http://127.0.0.1:{port}/api").close()
                    break
                except URLError:
                    time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def run_all(page, wait_ms):
    """Runs all cells of the notebook on the page, once its kernel is there."""
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=wait_ms)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=wait_ms)
    page.get_by_text("Run", exact=True).first.click()
    page.get_by_text("Run All Cells", exact=True).click()


@contextmanager
def page_of(folder):
    """JupyterLab on a folder, in a browser without a network: its address, a page, and what goes wrong there."""
    with lab(folder) as address, browser_of() as browser:
        context = browser.new_context(viewport={"width": 1440, "height": 1800}, reduced_motion="reduce")
        page = context.new_page()
        problems = []
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        # Whatever is not this machine is not there.
        context.route(
            re.compile(r"^https?://(?!127\.0\.0\.1)"),
            lambda route: (problems.append(route.request.url), route.abort()),
        )
        yield address, page, problems
