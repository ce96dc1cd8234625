"""A terminal without a display: what a program has written, as a screen that can be sent to anyone who comes later."""
