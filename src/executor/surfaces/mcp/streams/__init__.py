"""What is said on the stream of an answer, before the answer."""
