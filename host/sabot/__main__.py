"""`python -m sabot` is the `sabot` command."""

from sabot.command import main

if __name__ == "__main__":
    main()
