"""A log in PostgreSQL in any order of calls, as that of a file; the server ends its sessions."""

from contextlib import ExitStack

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import protocol.tests.without_clocks  # noqa: F401
from host.tests.log import test_store_machine
from host.tests.support.postgres import Server, new_log


@pytest.mark.slow
def test_a_log_in_postgresql_in_any_order_of_calls(postgres: Server) -> None:
    class PostgresMachine(test_store_machine.StoreMachine):
        """A log in a database of its own."""

        def make_place(self, version: int, before: int) -> None:
            self.made = ExitStack()
            self.database = self.made.enter_context(new_log(postgres))
            self.place = self.database.place()

        def cut_the_power(self) -> None:
            with self.database.connect("postgres") as session:
                session.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

        def remove_place(self) -> None:
            self.made.close()

    run_state_machine_as_test(
        PostgresMachine, settings=settings(test_store_machine.SETTINGS, max_examples=8)
    )
