"""What these tests compile they run in their own process, but for some."""

import pytest


@pytest.fixture(autouse=True)
def in_this_process(request: pytest.FixtureRequest) -> None:
    """Programs are written without their runner, unless a test starts them."""
    if "with_runner" not in request.fixturenames:
        request.getfixturevalue("without_runner")
