"""The engine: run, journal, park, resume, ask. The journal is the truth; sandboxes are disposable."""
