"""How tests draw random programs."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

from tests.support.session.long import examples


def generated(few: int, *, long: int) -> settings:
    """The first ``few`` programs of those of the long run, the same ones in each run.

    One that fails is shown as it is: to make it smaller takes as long as many others.
    """
    return settings(
        max_examples=examples(few, long=long),
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
