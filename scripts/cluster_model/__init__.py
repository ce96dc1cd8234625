"""A model of larger clusters, from the costs that `scripts/prove-cluster --measure` finds."""
