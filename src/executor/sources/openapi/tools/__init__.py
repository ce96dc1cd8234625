"""From operations of a document to tools."""
