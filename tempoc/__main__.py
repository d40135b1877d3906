"""`python -m tempoc`: the same as the `tempoc` command."""

from tempoc.cli.main import main

if __name__ == "__main__":
    main()
