"""Object stores on a network: waiting times, credentials, and the meaning of their errors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from esxparse import toml
from esxparse.errors import EsxparseError
from esxparse.formats.opening import PATIENCE_S
from esxparse.locations import is_url, public

RETRIES: Final = 3
_LONGEST: Final = "1h"
"""Time limit for one whole file: a slow line is not an error, but silence is."""
_MOST: Final = 300
"""Most characters of an unknown error."""
_VENDORS: Final = {"s3": "AWS", "s3a": "AWS", "gs": "GOOGLE"}
_DATA: Final = toml.beside(__file__)
_WHOSE: Final = _DATA["vendors"]
_CLIENT: Final = frozenset(_DATA["client"])
_GCLOUD: Final = ".config/gcloud/application_default_credentials.json"
_ADVICE: Final = {401: "; check the credentials", 403: "; the credentials do not allow this"}
_STATUS: Final = re.compile(r"status code: (\d{3})((?: [A-Z]\w+)*)")
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.]*://[^\s/?#]+", re.IGNORECASE)
_ENDPOINT: Final = re.compile(r"(?i)endpoint(_url(_s3)?)?$")
_SERVER: Final = re.compile(r"(?i)https?://[!-~]+")


def vendor(uri: str) -> str:
    """Return the prefix of the store's environment variables: AWS, GOOGLE or AZURE."""
    return _VENDORS.get(urlsplit(uri).scheme.lower(), "AZURE")


def seconds(options: Mapping[str, str]) -> float:
    """Return how long to wait for each answer.

    Raises:
        EsxparseError: The option `timeout` is not a number above 0.
    """
    text = options.get("timeout", "")
    try:
        value = float(text or PATIENCE_S)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise EsxparseError(f"timeout is {text!r}: write seconds, such as 60")
    return value


def need_credentials(uri: str, options: Mapping[str, str]) -> None:
    """Refuse a store without credentials, for which a client would ask the metadata address of the cloud.

    Raises:
        EsxparseError: Nobody configured any.
    """
    whose = vendor(uri)
    names = {name.upper().removeprefix(f"{whose}_") for name, value in options.items() if value}
    names |= {name.removeprefix(f"{whose}_") for name, value in os.environ.items() if value and name.startswith(whose)}
    if any(re.fullmatch(_WHOSE[whose]["credentials"], name) for name in names):
        return
    if whose == "GOOGLE" and (os.environ.get("GCE_METADATA_HOST") or (Path.home() / _GCLOUD).is_file()):
        return
    raise EsxparseError(f"lake {public(uri)}: no credentials: {_WHOSE[whose]['missing']}")


def need_address(uri: str, options: Mapping[str, str]) -> None:
    """Refuse a server address that is not a URL, on which a client panics.

    Raises:
        EsxparseError: The address is not a URL; the message does not repeat it.
    """
    prefix = f"{vendor(uri)}_"
    there = {name: value for name, value in os.environ.items() if name.startswith(prefix)} | dict(options)
    for name, value in there.items():
        # Some names with this ending are switches: AWS_USE_FIPS_ENDPOINT=true.
        switch = value.lower() in {"", "true", "false"}
        if not switch and _ENDPOINT.search(name) and not _SERVER.fullmatch(value):
            raise EsxparseError(f"lake {public(uri)}: {name} is not the address of a server: write https://HOST:PORT")


def client(uri: str, options: Mapping[str, str]) -> dict[str, Any]:
    """Return keyword arguments of an obstore store: its own options, its HTTP client's, and time limits."""
    wait = timedelta(seconds=seconds(options))
    prefix = f"{vendor(uri)}_"
    settings = {
        name: value for name in _CLIENT if (value := options.get(name) or os.environ.get(prefix + name.upper(), ""))
    }
    flags = {name: value.lower() == "true" for name, value in settings.items() if name.startswith("allow_")}
    return {
        **{name: value for name, value in options.items() if name not in _CLIENT and name != "timeout"},
        "client_options": {**settings, **flags, "connect_timeout": wait, "read_timeout": wait, "timeout": _LONGEST},
        "retry_config": {"max_retries": RETRIES, "retry_timeout": wait},
    }


def polars_options(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the same settings for polars."""
    wait = seconds(options)
    return {
        **options,
        "connect_timeout": f"{wait}s",
        "read_timeout": f"{wait}s",
        "timeout": _LONGEST,
        "max_retries": RETRIES,
        "retry_timeout_ms": int(wait * 1000),
    }


def is_broken_connection(text: str) -> bool:
    """Return whether a request failed on its way and was not repeated: the server may still have done the work."""
    return "HTTP error" in text and not re.search(r"status code|after \d+ retries|BadScheme|imed ?[Oo]ut", text)


def why(text: str) -> str | None:
    """Return the meaning of a store client's error, with advice, in our words; None if unknown."""
    for code, meaning in _DATA["codes"].items():
        if code in text:
            return str(meaning)
    if answer := _STATUS.search(text):
        return f"the server answered {answer[1]}{answer[2]}{_ADVICE.get(int(answer[1]), '')}"
    address = _ADDRESS.search(text.replace("s3://", ""))
    host = public(address[0]).partition("://")[2] if address else "the server"
    for sign, meaning in _DATA["network"].items():
        if re.search(sign, text):
            return str(meaning.format(host=host, name=host.rpartition(":")[0] or host))
    return None


def network_error(uri: str, text: str) -> EsxparseError | None:
    """Return a store client's error inside another library's, in our words; None if it is something else."""
    meaning = why(text) if "Generic " in text and is_url(uri) else None
    return EsxparseError(f"lake {public(uri)}: {meaning}") if meaning else None


def shortened(text: str) -> str:
    """Return an unknown error in one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST else f"{line[:_MOST]}..."
