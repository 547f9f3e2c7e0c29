import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { findLanguage, readDocumentation, type DocumentedItem } from './docstrings.ts';

const python = (text: string) => readDocumentation('python', text);
const javascript = (text: string) => readDocumentation('javascript', text);
const show = ({ kind, name, signature, doc }: DocumentedItem): string =>
  `${kind} ${name}: ${signature}: ${doc}`;

test('Python: the docstrings and signatures of functions, classes and methods', () => {
  const found = python(`#!/usr/bin/python3
# -*- coding: utf-8 -*-
r"""Tools for \\data.

    Indented.
"""
from __future__ import annotations
x = "def no(): pass"; y = f"{'def no2(): ' + f"{x}"}"

@decorated("with", brackets=(1, 2))
def load(path: str, *, sep: str = ":",
         kinds: dict[str, int] = {"a": 1},  # a comment: with a colon
         ) -> list[str]:
    """Reads a table.

    Args:
        path: where
          it is
    """
    def hidden():
        "nobody's"
    return []

async def fetch(url): 'one' " line"
if True:
    class Plot[T: int](Base, metaclass=Meta):
        '''A plot.'''
        field = 1
        def draw(self): ...
        async def save(self, name="x)"):
            b"bytes are no text"
        class Inner:
            u"Inside."
            def deep(self): return 1
def bare(): pass
def last(a, b=lambda x: {x: 1}):
    ("In brackets, \\u00fc and \\x41, "
     'over lines.')
`);
  assert.equal(found.problem, null);
  assert.equal(found.module, 'Tools for \\data.\n\nIndented.');
  assert.deepEqual(found.items.map(show), [
    `function load: def load(path: str, *, sep: str = ":", kinds: dict[str, int] = {"a": 1}, # a comment: with a colon ) -> list[str]: Reads a table.\n\nArgs:\n    path: where\n      it is`,
    'function fetch: async def fetch(url): one line',
    'class Plot: class Plot[T: int](Base, metaclass=Meta): A plot.',
    'method Plot.draw: def draw(self): ',
    'method Plot.save: async def save(self, name="x)"): ',
    'class Plot.Inner: class Inner: Inside.',
    'method Plot.Inner.deep: def deep(self): ',
    'function bare: def bare(): ',
    'function last: def last(a, b=lambda x: {x: 1}): In brackets, ü and A, over lines.',
  ]);
  assert.deepEqual(
    found.items.map(({ line }) => line),
    [11, 24, 26, 29, 30, 32, 34, 35, 36],
  );
});

test('JavaScript and TypeScript: the comments and signatures of functions, classes and methods', () => {
  const found = javascript(`#!/usr/bin/env node
/**
 * Tools for data.
 *   Indented.
 */
import { a } from 'b';
const text = "function no() {}", re = /function no2\\(\\) {/, t = \`\${(() => { function no3() {} })()} function no4() {\`;

/** Reads a table. */
export async function load(path, { sep = ':', kinds = [1, 2] } = {}) {
  /** Nobody's. */
  function hidden() {}
  return a / b / 2;
}
/** A type in the result. */
export function typed<T extends { a: (x: string) => void }>(x: T): Promise<{ b: string } | { c: number }> {
}
/** Overloaded. */
function over(x: string): void;
function over(x: number): void
function over(x: any) {}
/** An arrow. */
export const add = (a: number, b = (1)): number => a + b;
const one = async x => x * 2, two = 2;
/** A function in a variable. */
const named = function () {};
const notOne = (1 + 2) * 3;
let other: { (x: string): void } = function* () {};
@decorated({ a: 1 })
/** A plot. */
export default abstract class Plot<T> extends Base<{ a: 1 }> implements Other {
  static x = { draw() {} };
  y = (a) => a
  #secret() {}
  private hidden() {}
  /** Makes one. */
  constructor(private readonly name: string) { super(); }
  /** Draws it. */
  @logged() async *draw<K>(this: Plot, at: K): AsyncGenerator<{ a: K }> { yield 1; }
  get size(): number { return /[/}]/.test('x') ? 1 : 2; }
  'quoted name'() {}
  abstract save(): void;
}
export default function () {}
`);
  assert.equal(found.problem, null);
  assert.equal(found.module, 'Tools for data.\n  Indented.');
  assert.deepEqual(found.items.map(show), [
    "function load: async function load(path, { sep = ':', kinds = [1, 2] } = {}): Reads a table.",
    'function typed: function typed<T extends { a: (x: string) => void }>(x: T): Promise<{ b: string } | { c: number }>: A type in the result.',
    'function over: function over(x: string): void: Overloaded.',
    'function over: function over(x: number): void: ',
    'function over: function over(x: any): ',
    'function add: const add = (a: number, b = (1)): number: An arrow.',
    'function one: const one = async x: ',
    'function named: const named = function (): A function in a variable.',
    'function other: let other: { (x: string): void } = function* (): ',
    'class Plot: class Plot<T> extends Base<{ a: 1 }> implements Other: A plot.',
    'method Plot.constructor: constructor(private readonly name: string): Makes one.',
    'method Plot.draw: async *draw<K>(this: Plot, at: K): AsyncGenerator<{ a: K }>: Draws it.',
    'method Plot.size: get size(): number: ',
    'method Plot.save: abstract save(): void: ',
    'function default: function (): ',
  ]);
});

test('the first comment of a file is that of what follows it at once', () => {
  assert.equal(javascript('/** Adds. */\nfunction add() {}').module, '');
  assert.equal(javascript('/* About. */\n\nfunction add() {}').module, 'About.');
});

test('a file with a syntax error is read as far as it goes, and the line is told', () => {
  const broken = python('def f(a):\n    """Fine."""\n\ndef g(:\n  (\n');
  assert.equal(show(broken.items[0]!), 'function f: def f(a): Fine.');
  assert.match(broken.problem!, /^Line 4: a bracket is not closed\./);
  assert.match(python('x = "not closed\ny = 1').problem!, /^Line 1: a string is not closed/);
  assert.match(python('x = """not closed\ny = 1').problem!, /^Line 1: a string is not closed/);
  assert.match(python('x = 1)\n').problem!, /closed that was not opened/);
  for (const [text, why] of [
    ['/** A. */ function f() {}\nfunction g( {', /^Line 2: a bracket is not closed/],
    ['\nconst x = `a${b', /^Line 2: /],
    ['const x = "a\nlet y', /string is not closed/],
    ['x /* y', /comment is not closed/],
    ['x }', /closed that was not opened/],
  ] as const)
    assert.match(javascript(text).problem!, why);
});

test('whatever the text is, it is read, quickly, and no name or line is made up', () => {
  const parts = fc.constantFrom(
    ...'def class async ( ) [ ] { } : ; , = => " \' """ \'\'\' ` ${ \\ / /* */ /** // # f" rb\' @ < > function const x export default'.split(
      ' ',
    ),
    '\n',
    '\n    ',
    '\t',
    ' ',
    '\r\n',
    '😀',
    '\u0000',
  );
  const text = fc.array(fc.oneof({ weight: 8, arbitrary: parts }, fc.string({ unit: 'binary' })), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(text, (all) => {
      const source = all.join('');
      for (const language of ['python', 'typescript'] as const)
        for (const { name, line } of readDocumentation(language, source).items) {
          assert.ok(line >= 1 && line <= source.split('\n').length);
          assert.ok(name.split('.').every((part) => part === 'default' || source.includes(part)));
        }
    }),
    { numRuns: 2000 },
  );
});

test('a megabyte of what is hard to read is read all the same', () => {
  const size = 1024 ** 2;
  for (const piece of [
    '(',
    'f"{',
    'f\'{"',
    "f\"{'''",
    'def f(',
    'class A:\n ',
    '"""',
    '\\',
    'a',
    '{',
    'x="',
    '\n\n',
    ' ',
  ])
    python(piece.repeat(size / piece.length));
  for (const piece of [
    '(',
    '`${',
    '/[=',
    'const a:\n',
    'function f()\n+',
    'class A<\n',
    '/**/',
    '"',
    '/*',
    '=>',
    'a',
    '\n',
    'class A{a(',
    '@a(',
  ])
    javascript(piece.repeat(size / piece.length));
});

const root = new URL('../../../../', import.meta.url).pathname;

test('every file of this project is read without a complaint', () => {
  const files = globSync(['{src,test,bench,scripts}/**/*.ts', 'src/ports/sandbox/**/*.{py,cjs}'], {
    cwd: root,
  });
  assert.ok(files.length > 500);
  for (const file of files)
    assert.equal(
      readDocumentation(findLanguage(file)!, readFileSync(root + file, 'utf8')).problem,
      null,
      file,
    );
});

const oracle = `import ast, json, sys
def walk(body, prefix):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield [prefix + node.name, ast.get_docstring(node) or ""]
            if isinstance(node, ast.ClassDef): yield from walk(node.body, prefix + node.name + ".")
        elif hasattr(node, "body"):
            for part in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(node, part, []) or []:
                    yield from walk(inner.body if isinstance(inner, ast.ExceptHandler) else [inner], prefix)
        elif isinstance(node, ast.Match):
            for case in node.cases: yield from walk(case.body, prefix)
for path in json.load(sys.stdin):
    try: tree = ast.parse(open(path, encoding="utf-8").read())
    except Exception: print("null"); continue
    print(json.dumps([ast.get_docstring(tree) or "", list(walk(tree.body, ""))[:1000]]))`;

/** The same as the parser of Python finds, in its own library. */
test('Python files are read as Python itself reads them', (t) => {
  const files = globSync('/usr/lib/python3*/{,json/,email/,http/,unittest/,asyncio/,importlib/}*.py').slice(
    0,
    400,
  );
  if (files.length === 0) return t.skip('there is no library of Python here');
  const told = execFileSync('python3', ['-c', oracle], {
    input: JSON.stringify(files),
    maxBuffer: 1e9,
    encoding: 'utf8',
  });
  // Python leaves spaces at the ends of lines.
  const trim = (text: string): string => text.replaceAll(/[^\S\n]+$/gm, '').trim();
  for (const [at, line] of told.trim().split('\n').entries()) {
    const expected = JSON.parse(line) as [string, [string, string][]] | null;
    const file = files[at]!;
    if (expected === null) continue;
    const { module, items } = python(readFileSync(file, 'utf8'));
    const [ofModule, ofItems] = expected;
    assert.equal(trim(module), trim(ofModule), file);
    assert.deepEqual(
      items.map(({ name, doc }) => [name, trim(doc)]),
      ofItems.map(([name, doc]) => [name, trim(doc)]),
      file,
    );
  }
});
