"""The benchmarks measure what there is: short ones are run, for their figures to be there."""

from hil_tests.bench import __main__ as bench


def test_the_reader_the_codec_and_the_size_are_measured() -> None:
    figures = {
        figure.name: figure.value for figure in [*bench.reader(), *bench.codec(), *bench.size()]
    }
    assert len(figures) >= 10 and all(value >= 0 for value in figures.values()), figures


def test_the_record_that_the_database_is_measured_with_is_an_event() -> None:
    record = bench._record(7)
    assert (record.event.kind, record.event.number) == ("card", 7)
