# ruff: noqa: E501 - a program a line
from __future__ import annotations

from typing import Any

import pytest

from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import value_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    ("arguments", "href"),
    [
        (
            "'https://user:pa%20ss@EXAMPLE.com:443/a/./b/../c?q=1 2#h h'",
            "https://user:pa%20ss@example.com/a/c?q=1%202#h%20h",
        ),
        ("'../x', 'https://a.b/c/d/e'", "https://a.b/c/x"),
        ("'?q', 'https://a.b/c?old#h'", "https://a.b/c?q"),
        ("'#h', 'https://a.b/c?q'", "https://a.b/c?q#h"),
        ("'//other/x', 'https://a.b/c'", "https://other/x"),
        ("'/x', 'https://a.b:8080/c'", "https://a.b:8080/x"),
        ("'http://0x7f.1'", "http://127.0.0.1/"),
        ("'http://2130706433/'", "http://127.0.0.1/"),
        ("'http://[0:0::0:1]:80/'", "http://[::1]/"),
        ("'http://[::ffff:127.0.0.1]/'", "http://[::ffff:7f00:1]/"),
        ("'https://münchen.de/ä?ö#ü'", "https://xn--mnchen-3ya.de/%C3%A4?%C3%B6#%C3%BC"),
        ("'mailto:a@b.c'", "mailto:a@b.c"),
        ("'data:text/plain,hi there'", "data:text/plain,hi there"),
        ("'file:///a/../b'", "file:///b"),
        ("'http:\\\\\\\\host\\\\path'", "http://host/path"),
        ("' \\thttps://a.b\\n '", "https://a.b/"),
        ("'https://a.b/%2e%2e/x/%2E'", "https://a.b/x/"),
        ("'custom://Host/Path'", "custom://Host/Path"),
    ],
)
async def test_urls_are_parsed_as_the_standard_says(runtime: TypeScriptRuntime, arguments: str, href: str) -> None:
    assert await value_of(runtime, f"const u = new URL({arguments}); return u.href") == href


@pytest.mark.parametrize(
    "url",
    ["", "x", "http://", "http://a b/", "http://1.2.3.256/", "http://[::1", "http://a:99999/", "//x", "http://a:x/"],
)
async def test_what_is_no_url_throws(runtime: TypeScriptRuntime, url: str) -> None:
    assert await value_of(runtime, f"const ok = URL.canParse({url!r}); return ok") is False


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("const u = new URL('https://a.b:81/c?d=1#e'); return [u.origin, u.host, u.port, u.pathname, u.search, u.hash]",
         ["https://a.b:81", "a.b:81", "81", "/c", "?d=1", "#e"]),
        ("const u = new URL('https://a.b/?x=1'); u.searchParams.append('y', 'ä &'); u.searchParams.delete('x'); return u.href",
         "https://a.b/?y=%C3%A4+%26"),
        ("const u = new URL('https://a.b/'); u.search = 'q=1'; u.hash = 'h'; u.pathname = '/p q'; u.port = '443'; u.hostname = 'c.d';"
         "return [u.href, u.searchParams.get('q')]", ["https://c.d/p%20q?q=1#h", "1"]),
        ("return String(new URLSearchParams({a: '1 2', b: '&='}))", "a=1+2&b=%26%3D"),
        ("return [...new URLSearchParams('?a=1&a=2&b')]", [["a", "1"], ["a", "2"], ["b", ""]]),
        ("const p = new URLSearchParams([['b', '2'], ['a', '1']]); p.sort(); p.set('b', '3'); return [p.toString(), p.size, p.has('a', '2')]",
         ["a=1&b=3", 2, False]),
        ("return JSON.stringify({u: new URL('https://a.b')})", '{"u":"https://a.b/"}'),
        ("return [...new TextEncoder().encode('aä€😀')]", [97, 195, 164, 226, 130, 172, 240, 159, 152, 128]),
        ("return new TextDecoder().decode(new Uint8Array([239, 187, 191, 97, 195, 164, 255, 226, 130]))", "aä\ufffd\ufffd"),
        ("const d = new TextDecoder(); return d.decode(new Uint8Array([226]), {stream: true}) + d.decode(new Uint8Array([130, 172]))", "€"),
        ("try { new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([255])) } catch (e) { return e.name }", "TypeError"),
        ("return new TextDecoder('utf-16le').decode(new Uint8Array([97, 0, 228, 0]))", "aä"),
        ("return [btoa('hi!?'), atob('aGkhPw=='), atob(' aGk = ')]", ["aGkhPw==", "hi!?", "hi"]),
        ("try { btoa('€') } catch (e) { return e.name }", "InvalidCharacterError"),
        ("const o: any = {d: new Date(5), m: new Map([[1, {a: [1]}]]), s: new Set([2]), r: /x/g}; o.self = o;"
         "const c = structuredClone(o); return [c !== o, c.self === c, c.d.getTime(), c.m.get(1).a, c.s.has(2), c.r.flags]",
         [True, True, 5, [1], True, "g"]),
        ("try { structuredClone(() => 1) } catch (e) { return [e.name, e instanceof DOMException] }", ["DataCloneError", True]),
        ("const c = new AbortController(); let n = 0; c.signal.addEventListener('abort', () => n++); c.abort(); c.abort();"
         "return [c.signal.aborted, n, c.signal.reason.name]", [True, 1, "AbortError"]),
        ("try { AbortSignal.abort('why').throwIfAborted() } catch (e) { return e }", "why"),
        ("return /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())", True),
        ("return typeof fetch + typeof globalThis.process + typeof globalThis.Deno + typeof globalThis.std", "functionundefinedundefinedundefined"),
        ("const at = new Date(2024, 0, 31, 12); return [at.getHours(), at.toISOString()]", [12, "2024-01-31T12:00:00.000Z"]),
        ("return Object.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even'))", {"odd": [1, 3], "even": [2]}),
    ],
)  # fmt: skip
async def test_the_common_web_api_is_there(runtime: TypeScriptRuntime, code: str, value: Any) -> None:
    assert await value_of(runtime, code) == value
