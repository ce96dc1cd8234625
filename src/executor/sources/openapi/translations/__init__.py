"""Google Discovery documents and Postman collections, read as if they were OpenAPI."""
