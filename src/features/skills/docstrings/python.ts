/**
 * The documentation of a Python file: its docstring, and those of its functions, classes and methods, with their
 * signatures. It reads the text and runs none of it. What is defined inside of functions is nobody else's to call.
 */
import {
  createLineCounter,
  describeProblem,
  maxItems,
  toSignature,
  type DocumentedItem,
  type Documentation,
} from './docstring.ts';
import { readLogicalLines, type LogicalLine, type PythonToken } from './python-tokens.ts';

interface Block {
  readonly indent: number;
  /** Null inside of a function. */
  readonly className: string | null;
}

interface Definition {
  readonly name: string;
  readonly isClass: boolean;
  readonly start: number;
  readonly signatureEnd: number;
  /** What follows on the same line. */
  readonly rest: readonly PythonToken[];
}

type Writable = { -readonly [K in keyof DocumentedItem]: DocumentedItem[K] };

export function readPythonDocs(text: string): Documentation {
  const lines = readLogicalLines(text);
  const items: Writable[] = [];
  const blocks: Block[] = [];
  const lineOf = createLineCounter(text);
  let module: string | null = null;
  /** What the next line may document, and how far that line has to be indented. */
  let awaited: { item: Writable; indent: number } | null = null;
  let problem = null;
  for (;;) {
    const next = lines.next();
    if (next.done) {
      problem = next.value;
      break;
    }
    const line = next.value;
    while (blocks.length > 0 && blocks.at(-1)!.indent >= line.indent) blocks.pop();
    module ??= readDocstring(line.tokens) ?? '';
    if (awaited !== null && line.indent > awaited.indent) awaited.item.doc = readDocstring(line.tokens) ?? '';
    awaited = null;
    const definition = items.length < maxItems ? readDefinition(line) : null;
    if (definition === null) continue;
    const around = blocks.at(-1);
    const isHidden = around !== undefined && around.className === null;
    const item = toItem(text, definition, around?.className ?? null, lineOf);
    blocks.push({ indent: line.indent, className: definition.isClass && !isHidden ? item.name : null });
    if (isHidden) continue;
    items.push(item);
    if (definition.rest.length === 0) awaited = { item, indent: line.indent };
  }
  return { module: module ?? '', items, problem: problem && describeProblem(text, problem) };
}

function toItem(
  text: string,
  { name, isClass, start, signatureEnd, rest }: Definition,
  className: string | null,
  lineOf: (offset: number) => number,
): Writable {
  return {
    name: className === null ? name : `${className}.${name}`,
    kind: isClass ? 'class' : className === null ? 'function' : 'method',
    signature: toSignature(text.slice(start, signatureEnd)),
    doc: readDocstring(rest) ?? '',
    line: lineOf(start + 1),
  };
}

/** `def`, `async def` or `class` with a name, up to the colon. */
function readDefinition({ tokens }: LogicalLine): Definition | null {
  const at = tokens[0]!.text === 'async' ? 1 : 0;
  const [keyword, named] = [tokens[at], tokens[at + 1]];
  if ((keyword?.text !== 'def' && keyword?.text !== 'class') || named?.kind !== 'name') return null;
  const colon = tokens.findIndex(({ text, depth }) => text === ':' && depth === 0);
  if (colon === -1) return null;
  return {
    name: named.text,
    isClass: keyword.text === 'class',
    start: tokens[0]!.start,
    signatureEnd: tokens[colon]!.start,
    rest: tokens.slice(colon + 1),
  };
}

/** A statement that is nothing but text: one string, or several next to each other. Null for any other. */
function readDocstring(tokens: readonly PythonToken[]): string | null {
  const end = tokens.findIndex(({ text, depth }) => text === ';' && depth === 0);
  const statement = (end === -1 ? tokens : tokens.slice(0, end)).filter(
    ({ text }) => text !== '(' && text !== ')',
  );
  if (statement.length === 0) return null;
  const texts = statement.map((token) => (token.kind === 'string' ? decodeLiteral(token.text) : null));
  return texts.includes(null) ? null : cleanDocstring(texts.join(''));
}

const literalForm = /^([A-Za-z]*)("""|'''|"|')([^]*)$/;

/** Null for bytes and for what is put together when it runs. */
function decodeLiteral(literal: string): string | null {
  const [, prefix = '', quote = '', body = ''] = literalForm.exec(literal) ?? [];
  if (/[bft]/i.test(prefix)) return null;
  const inside = body.endsWith(quote) ? body.slice(0, -quote.length) : body;
  return /r/i.test(prefix) ? inside : inside.replaceAll(escapeForm, decodeEscape);
}

const escapeForm = /\\(?:\r?\n|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8}|[0-7]{1,3}|[^])/g;
const plainEscapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
};

function decodeEscape(escape: string): string {
  const rest = escape.slice(1);
  if (/^\r?\n$/.test(rest)) return '';
  if (/^[xuU]./.test(rest) && rest.length > 1)
    return toCharacter(Number.parseInt(rest.slice(1), 16)) ?? escape;
  if (/^[0-7]/.test(rest)) return toCharacter(Number.parseInt(rest, 8)) ?? escape;
  return plainEscapes[rest] ?? escape;
}

const toCharacter = (code: number): string | null => (code <= 0x10ffff ? String.fromCodePoint(code) : null);

/** As `inspect.cleandoc`: without the indentation that all lines but the first have, and without empty lines around. */
function cleanDocstring(text: string): string {
  const [first = '', ...others] = text.replaceAll('\r\n', '\n').replaceAll('\t', '        ').split('\n');
  const filled = others.filter((line) => line.trim() !== '');
  const indent = filled.reduce(
    (least, line) => Math.min(least, line.length - line.trimStart().length),
    Infinity,
  );
  const cut = others.map((line) => (indent === Infinity ? line : line.slice(indent)).trimEnd());
  return [first.trim(), ...cut].join('\n').replace(/^\n+/, '').trimEnd();
}
