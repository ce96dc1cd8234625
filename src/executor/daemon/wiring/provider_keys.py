"""The keys of model providers, without the proxies that use them: setting one needs no HTTP library."""

from __future__ import annotations

from executor.model.sessions.model_usage import ModelProvider
from executor.network.addresses import parse
from executor.secrets.secrets import Secrets
from executor.sessions.model_proxy.provider_keys import ProviderKeys
from executor.settings import Settings
from executor.storage.database import Database


def provider_keys_of(settings: Settings, database: Database, secrets: Secrets) -> ProviderKeys:
    origins = {provider: parse(url).origin for provider, url in base_urls(settings).items()}
    return ProviderKeys(database, secrets, origins)


def base_urls(settings: Settings) -> dict[ModelProvider, str]:
    return {
        "anthropic": settings.model_anthropic_url,
        "openai": settings.model_openai_url,
        "gemini": settings.model_gemini_url,
    }
