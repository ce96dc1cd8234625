"""OpenTelemetry: spans and metrics sent over OTLP. Imported only if the setting `telemetry` says so."""
