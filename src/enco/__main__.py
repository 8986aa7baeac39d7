"""``python -m enco`` is the command line."""

import sys

from enco.cli import main

if __name__ == "__main__":
    sys.exit(main())
