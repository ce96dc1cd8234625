"""The parts of the API, one module for each noun."""
