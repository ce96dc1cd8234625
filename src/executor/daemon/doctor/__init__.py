"""The checks of `executor doctor`."""
