"""WebSockets of the API: terminals and transcripts."""
