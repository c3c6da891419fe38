"""What pytest does for the firmware's tests. MicroPython runs them too, and it has no pytest."""

import gc


def pytest_collection_finish() -> None:
    """Set the collected tests aside: the firmware collects garbage itself, many times a round, and
    would look through thousands of tests each time."""
    gc.collect()
    gc.freeze()
