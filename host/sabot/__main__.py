"""`python -m sabot` is the `sabot` command."""

from sabot.command import end_at_once_by_ctrl_c, main

if __name__ == "__main__":
    try:
        main()
    finally:
        end_at_once_by_ctrl_c()  # Python's own end takes a moment
