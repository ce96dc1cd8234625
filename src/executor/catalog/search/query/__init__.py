"""From the words of a query to terms: tokenizer, spelling, synonyms, actions and app names."""
