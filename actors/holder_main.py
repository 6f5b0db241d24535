"""Starts a holder: ``python -I -S holder_main.py FOLDER``. Standalone, standard library only.

Isolated and without site-packages a start takes a third of the time and half of the memory; so the
package is made known here by its place. Whoever starts it waits for a moment only: the holder itself is
a process of its own session, a child of nobody who could take it along.
"""

from __future__ import annotations

import importlib.util
import os
import sys


def know_package(root: str) -> None:
    """Make the folder ``root`` the package ``outsourcerer``, whatever it is called."""
    spec = importlib.util.spec_from_file_location(
        "outsourcerer", os.path.join(root, "__init__.py"), submodule_search_locations=[root]
    )
    if spec is None or spec.loader is None:
        raise ImportError(root)
    package = importlib.util.module_from_spec(spec)
    sys.modules["outsourcerer"] = package
    spec.loader.exec_module(package)


def main() -> None:
    """Leave the caller's session, then be the holder."""
    folder = sys.argv[1]
    if os.fork():
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.chdir("/")
    os.umask(0o077)
    know_package(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from outsourcerer.actors.holder import hold  # noqa: PLC0415 - known from here on

    hold(folder)


if __name__ == "__main__":
    main()
