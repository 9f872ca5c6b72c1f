"""Vega's runtime from this machine, for pages and widgets that draw without a network."""

from __future__ import annotations

import base64
import hashlib
from contextlib import suppress
from importlib import metadata

from platformdirs import user_cache_path

from esxparse.whole import whole_file


def vega_runtime() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script, ready for an HTML page.

    Bundling them takes over a second of processor time, so the script stays in the user's cache, after its own hash.
    """
    kept = user_cache_path("esxparse") / f"vega-{metadata.version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeError):
        known, _, script = kept.read_text(encoding="utf-8").partition("\n")
        if known == hash_of(script):
            return script
    import vl_convert  # noqa: PLC0415 - 60 MB, for this alone

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    script = _inside_script(bundle)
    # A page can be made even if the cache cannot be written.
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(kept) as file:
            file.write(f"{hash_of(script)}\n{script}".encode())
    return script


def hash_of(text: str) -> str:
    """Return the SHA-256 of a script, as a Content-Security-Policy needs it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _inside_script(script: str) -> str:
    """Return `script` without the sequences that would end its element; they occur in strings and comments only."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
