"""A real JupyterLab on loopback, and notebooks for it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.error import URLError
from urllib.request import urlopen


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
