"""What daemon and executor process say to each other: JSON-RPC 2.0, one message a line, in both directions."""
