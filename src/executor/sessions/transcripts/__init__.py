"""Transcripts: written in order, followed live, read in pages."""
