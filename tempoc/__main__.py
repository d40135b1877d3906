"""`python -m tempoc`: the same as the `tempoc` command."""

from tempoc.cli.start import main

if __name__ == "__main__":
    main()
