from executor.surfaces.api.app import create_app

__all__ = ["create_app"]
