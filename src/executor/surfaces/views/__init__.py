"""What the surfaces show of the nouns, in camelCase: each type with the function that makes it.

The types are those of the OpenAPI document. They are plain dictionaries, written out without being validated.
"""
