"""One call: admission, binding, credential, sending."""
