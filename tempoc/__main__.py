"""`python -m tempoc`: the same as the `tempoc` command."""

import sys

from tempoc.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
