"""The shapes of answers, for the OpenAPI document only: handlers write the bytes themselves."""
