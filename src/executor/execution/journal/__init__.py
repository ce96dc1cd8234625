"""The journal of an execution: what was proposed, sent and answered, and its replay."""
