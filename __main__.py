"""``python -m outsourcerer``: the same program as ``outsourcerer`` and ``osrc``."""

from .cli.main import main

if __name__ == "__main__":
    main()
