/**
 * Reads the documentation of source files. Python's own parser reads Python, in the sandbox, with the walls and limits of a
 * run: a source can be made so that it takes a parser's memory, time or process. JavaScript and TypeScript are read by
 * line: that takes time in proportion to the text, whatever it is, and finds no syntax errors.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Caller } from '../../core/identity.ts';
import type { RunProgram } from '../../core/runs/run-program.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Documentation, DocumentedItem } from './skill.ts';

/** Published beside this file. */
const pythonProgram = join(import.meta.dirname, 'python-documentation.py');
/** Of a megabyte of source. */
const maxOutput = 16 * 1024 ** 2;

const text = z.string().transform((value) => value.toWellFormed());
const documentation = z.object({
  module: text,
  items: z.array(
    z.object({
      name: text,
      kind: z.enum(['function', 'class', 'method']),
      signature: text,
      doc: text,
      line: z.number(),
    }),
  ),
  problem: text.nullable(),
});

export async function readPythonDocs(
  runProgram: RunProgram,
  caller: Caller,
  source: string,
  signal: AbortSignal,
): Promise<Documentation> {
  const code = readFileSync(pythonProgram, 'utf8');
  const run = { language: 'python', code, stdin: source, workingDir: '/tmp', maxOutput } as const;
  const { stdout, reason } = await runProgram(caller, run, signal);
  if (reason === 'cancelled') throw new WorkcrateError('cancelled', 'The reading was cancelled.');
  const told = /^documentation (\{.*\})$/m.exec(stdout);
  if (told === null)
    throw new WorkcrateError(
      'unsupported',
      `Python could not parse the file: its parser ended by ${reason}. Read it in a run.`,
    );
  return documentation.parse(JSON.parse(told[1]!));
}

/** A text without a prefix but r or u, behind nothing but comments and empty lines. */
const leadingString = /^\ufeff?(?:[^\S\n]*(?:#[^\n]*)?\n)*[rRuU]?(?:("""|''')([^]*?)\1|(["'])([^\n]*?)\3)/;

/** What the file says of itself at its beginning, where that is plain to see without a parser. */
export function findLeadingDocstring(source: string): string {
  const [, , long, , short] = leadingString.exec(source) ?? [];
  return (long ?? short ?? '').trim();
}

/** More are not listed: a file of a megabyte may have a hundred thousand. */
const maxDocumentedItems = 1000;
const maxSignatureLength = 500;

const name = String.raw`(?<name>[\p{L}_$][\p{L}\p{N}_$]*)`;
/** What is exported is said by being listed. */
const isExported = String.raw`^(?:(?:export|default|declare|abstract) +)*`;
const forms = {
  function: new RegExp(String.raw`${isExported}(?<shown>(?:async +)?function\b *\*? *${name}?)`, 'u'),
  class: new RegExp(String.raw`${isExported}(?<shown>class\b *${name}?)`, 'u'),
  variable: new RegExp(String.raw`${isExported}(?<shown>(?:const|let|var) +${name}[^=]{0,200}=)`, 'u'),
  /** Not those that are private, by their names or by what is said of them. */
  method: new RegExp(
    String.raw`^\s+(?<shown>(?:(?:public|protected|static|override|abstract|async|get|set) +)*\*?${name}) *(?=[(<])`,
    'u',
  ),
} as const;
type Form = keyof typeof forms;

/** How far the end of a signature is looked for. */
const maxHeadLines = 20;
const maxHeadLength = 2000;

export function readJavaScriptDocs(text: string): Documentation {
  const lines = text.split('\n');
  const items: DocumentedItem[] = [];
  let className: string | null = null;
  let comment = '';
  for (let at = 0; at < lines.length && items.length < maxDocumentedItems; at++) {
    const line = lines[at]!;
    if (/^\s*\/\*/.test(line)) {
      const start = at;
      while (at < lines.length - 1 && !lines[at]!.includes('*/')) at++;
      comment = lines
        .slice(start, at + 1)
        .join('\n')
        .trim();
      continue;
    }
    const isInClass: boolean = className !== null && /^\s/.test(line);
    // Without a comment, a call looks like a method.
    const found: Declaration | null =
      isInClass && comment === '' ? null : readDeclaration(lines, at, isInClass);
    if (found !== null)
      items.push({
        ...found,
        name: isInClass ? `${className}.${found.name}` : found.name,
        doc: comment.startsWith('/**') ? cleanComment(comment) : '',
        line: at + 1,
      });
    if (/^[^\s@]/.test(line)) className = found?.kind === 'class' ? found.name : null;
    // A decorator stands between a comment and what it is about.
    if (!/^\s*@[\w.]+(?:\(.*\))?\s*$/.test(line)) comment = '';
  }
  return { module: findLeadingComment(text), items, problem: null };
}

type Declaration = Pick<DocumentedItem, 'name' | 'kind' | 'signature'>;

function readDeclaration(lines: readonly string[], at: number, isInClass: boolean): Declaration | null {
  const head = lines
    .slice(at, at + maxHeadLines)
    .join('\n')
    .slice(0, maxHeadLength);
  const candidates: readonly Form[] = isInClass ? ['method'] : ['function', 'class', 'variable'];
  for (const form of candidates) {
    const found = forms[form].exec(head);
    if (found === null) continue;
    const { shown = '', name: called = 'default' } = found.groups!;
    const start = found[0].lastIndexOf(shown);
    const end = findSignatureEnd(head, found[0].length, form);
    if (end === null) return null;
    const signature = shortenSignature(head.slice(start, end));
    return { name: called, kind: form === 'variable' ? 'function' : form, signature };
  }
  return null;
}

/** Where a body begins, as far as brackets tell. Null for a variable that is no function. */
function findSignatureEnd(head: string, from: number, form: Form): number | null {
  if (form === 'class') return findBody(head, from);
  const value = form === 'variable' ? findFunctionValue(head, from) : { isArrow: false, at: from };
  if (value === null) return null;
  const behind = skipParameters(head, value.at);
  if (!value.isArrow) return findBody(head, behind);
  const arrow = /^\s*(?::[^;]{0,500}?)?=>/.exec(head.slice(behind));
  return arrow === null ? null : behind + arrow[0].length - 2;
}

function findFunctionValue(head: string, from: number): { isArrow: boolean; at: number } | null {
  const rest = head.slice(from);
  const [begin] = /^\s*(?:async\b\s*)?(?:function\b\s*\*?\s*[\w$]*\s*(?=\()|(?=[(<]))/.exec(rest) ?? [];
  if (begin !== undefined) return { isArrow: !begin.includes('function'), at: from + begin.length };
  const [alone] = /^\s*(?:async\s+)?[\p{L}_$][\p{L}\p{N}_$]*(?=\s*=>)/u.exec(rest) ?? [];
  return alone === undefined ? null : { isArrow: true, at: from + alone.length };
}

/** Behind the bracket that closes the first one, on the same line where that does not come. */
function skipParameters(head: string, from: number): number {
  const first = /^\s*(?:<[^(]*)?\(/.exec(head.slice(from));
  if (first === null) return from;
  let depth = 1;
  for (let at = from + first[0].length; at < head.length; at++) {
    if (head[at] === '(') depth++;
    if (head[at] === ')' && --depth === 0) return at + 1;
  }
  return findLineEnd(head, from);
}

/** The brace at the end of the line, or else the first that begins no type; what has no body ends with its line. */
function findBody(head: string, from: number): number {
  const end = findLineEnd(head, from);
  const line = head.slice(from, end).trimEnd();
  if (line.endsWith('{')) return from + line.length - 1;
  const at = line.search(/(?<![<:|&,(=]\s*)\{|;/);
  return at === -1 ? from + line.length : from + at;
}

function findLineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

function shortenSignature(source: string): string {
  const line = source.replaceAll(/\s+/g, ' ').trim();
  return line.length > maxSignatureLength ? `${line.slice(0, maxSignatureLength - 1).toWellFormed()}…` : line;
}

/** Behind nothing but the line that names the interpreter. */
const leadingComment = /^\ufeff?(?:#![^\n]*\n)?\s*(\/\*[^]*?\*\/)[^\S\n]*\r?\n?/;

/** The comment that a file begins with, unless it is about what follows at once. */
export function findLeadingComment(text: string): string {
  const found = leadingComment.exec(text);
  if (found === null) return '';
  const next = text.slice(found[0].length, found[0].length + maxHeadLength).split('\n');
  return readDeclaration(next, 0, false) === null ? cleanComment(found[1]!) : '';
}

/** Without the stars. */
function cleanComment(comment: string): string {
  const inside = comment.replace(/^\/\*+/, '').replace(/\**\/$/, '');
  const lines = inside.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  return lines.join('\n').trim();
}
