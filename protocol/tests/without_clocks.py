"""Hypothesis without clocks: a busy machine must not fail a test.

Each test module that uses Hypothesis imports this one. No conftest does, because the import of
Hypothesis takes longer than most test modules.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "no clocks", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("no clocks")
