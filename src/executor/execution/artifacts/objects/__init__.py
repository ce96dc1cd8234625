"""Content of artifacts in an object store. Imported only if the setting `artifacts_url` says so."""
