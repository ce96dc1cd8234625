"""OAuth 2 as a client: find the authorization server, be known there, get a grant, keep it fresh."""

from __future__ import annotations
