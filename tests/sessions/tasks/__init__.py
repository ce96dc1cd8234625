"""Tasks of sessions in this process, with a stand-in for the executor process."""
