"""The OpenAPI document of `/v1`: what FastAPI can't know is added to what it writes."""
