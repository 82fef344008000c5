"""The browser of tests/data_and_processes/browser."""

from tests.data_and_processes.browser.conftest import browser, tab

__all__ = ["browser", "tab"]
