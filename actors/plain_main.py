"""Starts what nobody forked: ``python -I [-S] plain_main.py ROLE WORD...``.

    shim FOLDER ATTEMPT    the shim of one attempt
    holder FOLDER          the holder of a session
    keeper FOLDER          the keeper of a check

The package is made known by its place: isolated, and without site-packages where psutil is not needed, a start takes a
third of the time.
"""

from __future__ import annotations

import importlib
import importlib.util  # before this folder, which has names of the standard library, is looked in
import sys
from pathlib import Path


def main() -> None:
    """Be what the first word says."""
    here = Path(__file__).absolute().parent
    sys.path.insert(0, str(here))
    know_package = importlib.import_module("holder_main").know_package
    sys.path.remove(str(here))
    know_package(str(here.parent))
    role, *words = sys.argv[1:]
    if role == "shim":
        from outsourcerer.actors.plain_shim import be_shim  # noqa: PLC0415  as above
        from outsourcerer.actors.suspended import starter  # noqa: PLC0415  known from here on

        be_shim(Path(words[0]), int(words[1]), starter())
    elif role == "holder":
        from outsourcerer.actors.holder import hold_plainly  # noqa: PLC0415  as above

        hold_plainly(words[0])
    elif role == "keeper":
        from outsourcerer.actors.check_keeper import keep  # noqa: PLC0415  as above
        from outsourcerer.actors.plain_keeper import PlainKeeper  # noqa: PLC0415  as above

        keep(PlainKeeper(words[0]))


if __name__ == "__main__":
    main()
