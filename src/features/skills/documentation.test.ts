import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { ada, openRoom } from '../../core/runs/room.testing.ts';
import { createProgramRunner } from '../../core/runs/run-program.ts';
import {
  findLeadingComment,
  findLeadingDocstring,
  readJavaScriptDocs,
  readPythonDocs,
} from './documentation.ts';
import type { DocumentedItem } from './skill.ts';

const room = await openRoom();
after(() => room[Symbol.asyncDispose]());
const runProgram = createProgramRunner(room.sandbox, room.places);
const python = (text: string) => readPythonDocs(runProgram, ada, text, new AbortController().signal);
const javascript = readJavaScriptDocs;
const show = ({ kind, name, signature, doc }: DocumentedItem): string =>
  `${kind} ${name}: ${signature}: ${doc}`;

test('Python: the docstrings and signatures of functions, classes and methods', async () => {
  const found = await python(`#!/usr/bin/python3
# -*- coding: utf-8 -*-
r"""Tools for \\data.

    Indented.
"""
from __future__ import annotations
x = "def no(): pass"; y = f"{x}: def no2(): "

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
    class Plot(Base, metaclass=Meta):
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
    'class Plot: class Plot(Base, metaclass=Meta): A plot.',
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
  @logged()
  async *draw<K>(this: Plot, at: K): AsyncGenerator<{ a: K }> { yield 1; }
  /** How large it is. */
  get size(): number { return /[/}]/.test('x') ? 1 : 2; }
  'quoted name'() {}
  /** Keeps it. */
  abstract save(): void;
  /** Nobody's. */
  @logged() async other() {}
  withoutComment() {}
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
    'method Plot.size: get size(): number: How large it is.',
    'method Plot.save: abstract save(): void: Keeps it.',
    'function default: function (): ',
  ]);
});

test('the first comment of a file is that of what follows it at once', () => {
  assert.equal(javascript('/** Adds. */\nfunction add() {}').module, '');
  assert.equal(javascript('/* About. */\n\nfunction add() {}').module, 'About.');
});

test('a regular expression or a bracket in a text hides nothing of what follows', () => {
  const { items, problem } = javascript(
    [
      'const quote = (text) => `"${text.replaceAll(/["\']/g, (found) => `\\\\${found}`)}"`;',
      '/** Is found. */',
      "export function after(a = '(', b = 1) {}",
    ].join('\n'),
  );
  assert.equal(problem, null);
  assert.deepEqual(
    items.map(({ name, doc }) => [name, doc]),
    [
      ['quote', ''],
      ['after', 'Is found.'],
    ],
  );
});

test('a Python file with a syntax error is read as far as it goes, and the line is told', async () => {
  const broken = await python('def f(a):\n    """Fine."""\n\ndef g(:\n  (\n');
  assert.equal(show(broken.items[0]!), 'function f: def f(a): Fine.');
  assert.match(broken.problem!, /^Line [45]: .+\. What follows may be missing\.$/);
  assert.match((await python('x = "not closed\ny = 1')).problem!, /^Line 1: /);
  assert.match((await python('def f():\n    "Fine."\n    x = """not closed\n')).problem!, /^Line 3: /);
  assert.match((await python('x = 1)\n')).problem!, /^Line 1: /);
});

test('a Python file that its parser cannot take is told so, and harms nothing else', async () => {
  const size = 1024 ** 2;
  for (const piece of ['(', '-', '[1,', 'a.', 'f"{', 'lambda:', 'if x:\n ', '"""', '\\', 'not '])
    assert.ok((await python(`x = ${piece.repeat(size / piece.length)}`)).problem !== null, piece);
  const names = Array.from(
    { length: 3000 },
    (_, at) => `def f${at}(a=[${'[1],'.repeat(200)}]): "Number ${at}."\n`,
  );
  const many = await python(names.slice(0, 1200).join(''));
  assert.deepEqual([many.items.length, many.items.at(-1)!.doc], [1000, 'Number 999.']);
  assert.ok(many.items.every(({ signature }) => signature.length === 500 && signature.endsWith('…')));
  const odd = await python('"\\ud800 \\x00 é"\nclass Ä:\n\t"😀"\n\tdef ü(self, *, ß=1): ...\n');
  assert.deepEqual(
    [odd.module, ...odd.items.map(show)],
    ['\ufffd \0 é', 'class Ä: class Ä: 😀', 'method Ä.ü: def ü(self, *, ß=1): '],
  );
});

test('where the parser of Python died or is not there, that is said', async () => {
  const { signal } = new AbortController();
  const off = createProgramRunner('It is off.', room.places);
  await assert.rejects(readPythonDocs(off, ada, '', signal), {
    code: 'sandbox_unavailable',
    message: /No code can be run here\. It is off\./,
  });
  const end = { stdout: 'documentation {', exitCode: null, signal: null, durationMs: 1 };
  await assert.rejects(
    readPythonDocs(async () => ({ ...end, reason: 'oom' }), ada, '', signal),
    { code: 'unsupported', message: /could not parse the file: its parser ended by oom/ },
  );
});

test('what a Python file says of itself is seen at its beginning', () => {
  for (const [text, says] of [
    ['"""Plots."""\n', 'Plots.'],
    ["#!/usr/bin/python3\n# a comment\n\nr'''\nRaw.\n\nMore.'''", 'Raw.\n\nMore.'],
    ["'one line'\nx = 1", 'one line'],
    ['x = 1\n"""no"""', ''],
    ['"""not closed', ''],
    ['import os', ''],
  ] as const)
    assert.equal(findLeadingDocstring(text), says, text);
});

test('whatever the text is, it is read, and no name or line is made up', () => {
  const parts = fc.constantFrom(
    ...'async ( ) [ ] { } : ; , = => " \' ` ${ \\ / /* */ /** // @ < > function class A{ x const export default static m('.split(
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
      findLeadingDocstring(source);
      for (const { name, line } of javascript(source).items) {
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
    '`${',
    '/[=',
    'const a:\n',
    'const a=(\n',
    'function f()\n+',
    'class A<\n',
    'class A\n/** */\n a(\n',
    '/**/',
    '/**\n',
    '"',
    '"""',
    '/*',
    '=>',
    'a',
    '\n',
    ' ',
    ' \n#',
    'class A{a(',
    '@a(',
    'export ',
    'async ',
  ]) {
    const text = piece.repeat(size / piece.length);
    javascript(text);
    findLeadingComment(text);
    findLeadingDocstring(text);
  }
});
