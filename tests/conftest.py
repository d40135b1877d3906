"""What every test can use."""

pytest_plugins = ["tests.support.golden", "tests.support.kernels"]
