"""JavaScript and TypeScript source, for every runtime that runs it: types blanked out, hints for what is missing."""
