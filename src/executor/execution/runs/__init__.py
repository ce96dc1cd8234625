"""One run of an execution: driving its code, its calls, its log and its clock."""
