"""Runs the test functions of one module under MicroPython (or CPython), without pytest.

    micropython -m firmware.tests.run protocol.tests.test_cbor

Prints a line for each failure and `N passed, M failed`; exits 1 if one failed.
"""

import gc
import sys


def main() -> None:
    if hasattr(gc, "threshold"):
        gc.threshold(4096)  # as main.py loads the firmware
    name = sys.argv[1]
    module = __import__(name, None, None, ("*",))
    if hasattr(gc, "threshold"):
        gc.threshold(65536)  # more often takes most of the time; seldom, the heap is in pieces
    passed = failed = 0
    for test in sorted(dir(module)):
        if not test.startswith("test_"):
            continue
        gc.collect()
        try:
            getattr(module, test)()
            passed += 1
        except Exception as error:
            failed += 1
            print("FAILED %s.%s" % (name, test))
            if hasattr(sys, "print_exception"):
                sys.print_exception(error)
            else:
                raise
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed or not passed else 0)


main()
