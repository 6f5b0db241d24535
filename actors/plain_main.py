"""Starts a shim that nobody forked: ``python -I [-S] plain_main.py FOLDER ATTEMPT``.

The package is made known by its place, as for a holder: isolated, and without site-packages where psutil is not
needed, a start takes a third of the time.
"""

from __future__ import annotations

import importlib
import importlib.util  # before this folder, which has names of the standard library, is looked in
import sys
from pathlib import Path


def main() -> None:
    """Be the shim of one attempt."""
    here = Path(__file__).absolute().parent
    sys.path.insert(0, str(here))
    know_package = importlib.import_module("holder_main").know_package
    sys.path.remove(str(here))
    know_package(str(here.parent))
    from outsourcerer.actors.held import starter  # noqa: PLC0415  known from here on
    from outsourcerer.actors.plain_shim import be_shim  # noqa: PLC0415  as above

    be_shim(Path(sys.argv[1]), int(sys.argv[2]), starter())


if __name__ == "__main__":
    main()
