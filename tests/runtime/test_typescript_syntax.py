"""TypeScript constructs: each runs, and gives what TypeScript's own compiler would make of it."""

# ruff: noqa: E501 - a program a line
from __future__ import annotations

import pytest

from executor.runtime.javascript.blank import Blanked
from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import failure_of, value_of

CONSTRUCTS = {
    "annotations": "const a: number = 1; let b: string[] = []; var c: Map<string, number> | null = null; return a",
    "definite assignment": "let a!: number; a = 1; return a",
    "optional and rest parameters": "function f(a: number, b?: string, ...c: any[]): number { return a } return f(1)",
    "default parameters": "function f(a: number = 1) { return a } return f()",
    "this parameter": "function f(this: { n: number }, m: number) { return this.n + m } return f.call({ n: 0 }, 1)",
    "only a this parameter": "function f(this: { n: number }) { return this.n } return f.call({ n: 1 })",
    "destructured parameters": "function f({ a }: { a: number }, [b]: number[]) { return a + b } return f({ a: 1 }, [0])",
    "generic function": "function f<T extends object, K extends keyof T>(o: T, k: K): T[K] { return o[k] } return f({ a: 1 }, 'a')",
    "generic call": "function f<T>(a: T): T { return a } return f<number>(1)",
    "nested generic call": "function f<T>(a: T): T { return a } return f<Array<Map<string, number>>>([]).length + 1",
    "generic constructor": "return new Map<string, number>([['a', 1]]).get('a')",
    "generic arrow": "const f = <T,>(a: T): T => a; return f(1)",
    "generic arrow with a bound": "const f = <T extends number>(a: T) => a; return f(1)",
    "async generic arrow": "const f = async <T,>(a: T): Promise<T> => a; return await f(1)",
    "arrow with a return type": "const f = (a: number): number => a; return f(1)",
    "arrow with a return type of several lines": "const f = (a: number): {\n  n: number\n} => ({ n: a });\nreturn f(1).n",
    "arrow with a multi-line promise": "const f = async (a: number): Promise<\n  number\n> => {\n  return a\n};\nreturn f(1)",
    "arrow with a type predicate": "const f = (a: unknown): a is number => true; return f(1) ? 1 : 0",
    "arrow whose type is a function": "const f = (a: number): (() => number) => () => a; return f(1)()",
    "as": "return (1 as unknown) as number",
    "as const": "const a = { n: 1 } as const; return a.n",
    "as in a condition": "const a: unknown = 1; return (a as number) > 0 ? 1 : 0",
    "as in a call": "return Math.max(1 as number, 0 as any)",
    "satisfies": "const a = { n: 1 } satisfies { n: number }; return a.n",
    "angle bracket assertion": "const a = <number>(1 as unknown); return a",
    "non-null": "const a: { n?: number } = { n: 1 }; return a!.n!",
    "non-null before a call": "const f: (() => number) | null = () => 1; return f!()",
    "interface": "interface A<T> extends B { a: T; b?: () => void } interface B {} return 1",
    "type alias": "type A<T> = T extends string ? { [K in keyof T]?: T[K] } : `x${string}`; return 1",
    "overloads": "function f(a: string): string\nfunction f(a: number): number\nfunction f(a: any): any { return a }\nreturn f(1)",
    "declare": "declare const g: number; declare function h(): void; declare global { interface X {} } return 1",
    "declare module": "declare module 'x' { export const a: number }\nreturn 1",
    "import type": "import type { A } from 'a'\nimport type B from 'b'\nreturn 1",
    "export type": "export type A = string\nexport interface B { b: number }\nreturn 1",
    "class fields": "class A { a: number = 1; b?: string; c!: number; readonly d = 1; static e: number = 0; #f: number = 0 }"
    " return new A().a",
    "modifiers": "class A { private a = 1; protected b(): number { return this.a } public static override c = 1; "
    "public get d(): number { return this.b() } set d(v: number) {} } return new A().d",
    "accessor": "class A { accessor a: number = 1 } return new A().a",
    "declared field": "class B { x = 1 } class A extends B { declare x: number } return new A().x",
    "abstract class": "abstract class A<T> { abstract n(): T; abstract x: number; m(): T { return this.n() } }\n"
    "class B extends A<number> implements C { n() { return 1 } }\ninterface C {}\nreturn new B().m()",
    "method overloads": "class A { f(a: string): string; f(a: number): number; f(a: any) { return a } } return new A().f(1)",
    "optional method": "class A { f?(): void; g() { return 1 } } return new A().g()",
    "index signature": "class A { [key: string]: any; a = 1 } return new A().a",
    "constructor": "class A { n: number; constructor(n: number, m?: string) { this.n = n } } return new A(1).n",
    "constructor overloads": "class A { n = 1; constructor(a: string); constructor(a: any) {} } return new A('').n",
    "generic class expression": "const A = class<T> { n: T | undefined = undefined }; return new A<number>() && 1",
    "generic method": "class A { f<T>(a: T): T { return a } } return new A().f<number>(1)",
    "object methods": "const o = { f(a: number): number { return a }, async g<T>(a: T): Promise<T> { return a } }; return o.g(o.f(1))",
    "catch annotation": "try { throw 1 } catch (e: unknown) { return e as number }",
    "for annotations": "let n = 0; for (const a of [1] as number[]) { n += a } return n",
    "keyof and typeof": "const o = { a: 1 }; type K = keyof typeof o; const k: K = 'a'; return o[k]",
    "assertion function": "function f(a: unknown): asserts a is number {} f(1); return 1",
    "getter returning a type predicate": "class A { is(): this is A { return true } } return new A().is() ? 1 : 0",
    "unique symbol": "const s: unique symbol = Symbol(); return typeof s === 'symbol' ? 1 : 0",
    "optional chaining": "const o: { a?: { b: number } } = { a: { b: 1 } }; return o?.a?.b",
    "tuple types": "const a: [x: number, y?: string, ...z: boolean[]] = [1]; return a[0]",
    "template literal type": "type A = `${string}-${number}`; const a: A = '1-1'; return a.length - 2",
    "instantiation expression": "const f = <T,>(a: T) => a; const g = f<number>; return g(1)",
    "comparison that looks generic": "const a = 1, b = 2, c = 0; return (a < b) && (b > c) ? 1 : 0",
    "labels and regular expressions": "outer: for (;;) { break outer } return /a<b>/.test('a<b>') ? 1 : 0",
    "using a keyword as a name": "const type = 1, as = 0, of = 0, declare = 0, namespace = 0; return type + as + of + declare + namespace",
    "a property named type": "const o = { type: 1, readonly: 0, private: 0 }; return o.type",
    "non-ASCII text before types": "const ä: string = 'äöü😀'; const n: number = 1; return n",
    "windows line ends": "const a: {\r\n  n: number\r\n} = { n: 1 };\r\nreturn a.n",
}
HAZARDS = {
    "type alias before a parenthesis": "let n = 1\ntype A = string\n(function () { n = 1 })()\nreturn n",
    "interface before a bracket": "let n = 1\ninterface A {}\n[2].forEach(() => {})\nreturn n",
    "declare before a template": "let n = 1\ndeclare const x: number\n`x`.length\nreturn n",
    "as before a parenthesis": "const a = 1 as number\n;(() => {})()\nreturn a",
    "as before a bracket on the next line": "const a = 1 as any\n[2].length\nreturn a",
    "satisfies before a parenthesis on the next line": "const a = 1 satisfies number\n(2)\nreturn a",
    "non-null before a parenthesis on the next line": "const o: any = { a: 1 }\nconst a = o.a!\n;(2)\nreturn a",
    "a type argument across lines": "const f = <T,>(a: T) => a\nreturn f<\n  number\n>(1)",
    "a field before a computed one": "class A { a: number\n['b'] = 1 }\nreturn new A().b",
    "a field before a generator": "class A { a: number\n*b() { yield 1 } }\nreturn [...new A().b()][0]",
    "an annotation before a bracket": "let n = 1, m: number\n[n, m] = [1, 2]\nreturn n",
    "a type alias before a bracket": "let n = 1\ntype A = string\n[2].forEach(() => {})\nreturn n",
    "an abstract member before a bracket": "abstract class A { abstract a: number\n['b'] = 1 }\nreturn (new (A as any)()).b",
}


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("name", CONSTRUCTS)
async def test_the_construct_runs(runtime: TypeScriptRuntime, name: str) -> None:
    assert await value_of(runtime, CONSTRUCTS[name]) == 1


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("name", HAZARDS)
async def test_blanking_joins_no_two_statements(runtime: TypeScriptRuntime, name: str) -> None:
    assert await value_of(runtime, HAZARDS[name]) == 1


@pytest.mark.parametrize("name", [*CONSTRUCTS, *HAZARDS])
def test_lines_and_lengths_stay_as_they_are(name: str) -> None:
    source = {**CONSTRUCTS, **HAZARDS}[name].encode()
    code = Blanked(source)
    code.run()
    assert len(code.out) == len(source)
    assert [at for at, byte in enumerate(code.out) if byte == 10] == [
        at for at, byte in enumerate(source) if byte == 10
    ]


@pytest.mark.asyncio(loop_scope="session")
async def test_an_error_after_types_keeps_its_column(runtime: TypeScriptRuntime) -> None:
    failure = await failure_of(runtime, "const a: Array<string> = []\nconst b = <T,>(x: T) => x; (undefined as any).x")
    assert (failure.details["line"], failure.details["column"]) == (2, 29)
