"""The nouns of Executor: frozen dataclasses without I/O. One word for one concept, here and everywhere above."""
