"""`python -m footplate` is the command `footplate`."""

from footplate.cli.main import main

if __name__ == "__main__":
    main()
