/**
 * The documentation of a JavaScript or TypeScript file: the comment of the file, and those of its functions, classes and
 * methods, with their signatures. It reads the text and runs none of it.
 */
import {
  createLineCounter,
  describeProblem,
  maxItems,
  toSignature,
  type DocumentedItem,
  type Documentation,
} from './docstring.ts';
import { readJsTokens, type JsToken, type JsTokens } from './javascript-tokens.ts';

interface Source extends JsTokens {
  readonly text: string;
}

/** A declaration: what it is, where it begins and ends, and where its signature ends. */
interface Declaration {
  readonly name: string;
  readonly kind: DocumentedItem['kind'];
  /** The first token of what the signature shows. */
  readonly from: number;
  /** The first token that it does not show any more. */
  readonly to: number;
  /** The token that opens the body; null where there is none. */
  readonly body: number | null;
}

/** How many tokens the parts of one signature are looked for in, so that no text takes long. */
const maxLookahead = 1000;

const modifiers =
  /^(?:export|default|declare|abstract|async|public|private|protected|static|readonly|override|get|set|accessor)$/;

export function readJavaScriptDocs(text: string): Documentation {
  const source: Source = { text, ...readJsTokens(text) };
  const { tokens, closings, problem } = source;
  const items: DocumentedItem[] = [];
  const lineOf = createLineCounter(text);
  const usedDocs = new Set<string>();
  const add = (declaration: Declaration, doc: string | null, className: string | null): void => {
    if (items.length >= maxItems) return;
    if (doc !== null) usedDocs.add(doc);
    const { name, kind, from, to } = declaration;
    const end = tokens[to]?.start ?? text.length;
    items.push({
      name: className === null ? name : `${className}.${name}`,
      kind,
      signature: toSignature(text.slice(tokens[from]!.start, end)),
      doc: doc === null ? '' : cleanComment(doc),
      line: lineOf(tokens[from]!.start + 1),
    });
  };
  for (let at = 0; at < tokens.length;) {
    const declaration = isStatementStart(tokens, at) ? readDeclaration(source, at) : null;
    if (declaration === null) {
      at = (closings.get(at) ?? at) + 1;
      continue;
    }
    add(declaration, findDoc(tokens, at, declaration.from), null);
    const { body, kind } = declaration;
    if (kind === 'class' && body !== null)
      for (const { member, doc } of readMembers(source, body)) add(member, doc, declaration.name);
    at = body === null ? declaration.to : (closings.get(body) ?? tokens.length - 1) + 1;
  }
  const told = problem && describeProblem(text, problem);
  return { module: readFileComment(text, usedDocs), items, problem: told };
}

/** At the start of a line, or behind what ends a statement. */
function isStatementStart(tokens: readonly JsToken[], at: number): boolean {
  const before = tokens[at - 1];
  return tokens[at]!.isFirst || before === undefined || before.text === ';' || before.text === '}';
}

/** The comment may stand before `export`, or between it and what it exports. */
function findDoc(tokens: readonly JsToken[], from: number, to: number): string | null {
  for (let at = to; at >= from; at--) if (tokens[at]!.doc !== null) return tokens[at]!.doc;
  return null;
}

/** Behind decorators and `export default`. */
function skipModifiers({ tokens, closings }: Source, at: number): number {
  let next = at;
  while (next < tokens.length) {
    const { text } = tokens[next]!;
    if (text.startsWith('@')) next = skipDecorator(tokens, closings, next);
    else if (modifiers.test(text) && !/^[(=:;,.<]/.test(tokens[next + 1]?.text ?? ';')) next++;
    else return next;
  }
  return next;
}

function skipDecorator(
  tokens: readonly JsToken[],
  closings: ReadonlyMap<number, number>,
  at: number,
): number {
  let next = at + 1;
  while (tokens[next]?.text === '.') next += 2;
  return tokens[next]?.text === '(' ? (closings.get(next) ?? next) + 1 : next;
}

function readDeclaration(source: Source, at: number): Declaration | null {
  const { tokens } = source;
  const next = skipModifiers(source, at);
  const keyword = tokens[next];
  if (keyword === undefined) return null;
  // What the file exports is said by being listed; `async` is a part of how it is called.
  const from = tokens[next - 1]?.text === 'async' && next > at ? next - 1 : next;
  if (keyword.text === 'function') return readFunction(source, from, next + 1);
  if (keyword.text === 'class') return readClass(source, next);
  if (/^(?:const|let|var)$/.test(keyword.text)) return readVariable(source, next);
  return null;
}

function readFunction(source: Source, from: number, at: number): Declaration | null {
  const { tokens } = source;
  const named = tokens[at]?.text === '*' ? at + 1 : at;
  const isNamed = tokens[named]?.kind === 'name';
  const end = findSignatureEnd(source, isNamed ? named + 1 : named, false);
  if (end === null) return null;
  return { name: isNamed ? tokens[named]!.text : 'default', kind: 'function', from, ...end };
}

/** The body of a class is the first brace that is no part of a type in its heritage. */
function readClass({ tokens, closings }: Source, from: number): Declaration | null {
  const named = tokens[from + 1];
  const isNamed = named?.kind === 'name' && named.text !== 'extends' && named.text !== 'implements';
  for (let [at, seen] = [from + 1, 0]; at < tokens.length && seen < maxLookahead; at++, seen++) {
    const { text } = tokens[at]!;
    if (text === '{' && !isInsideType(tokens[at - 1]!))
      return { name: isNamed ? named.text : 'default', kind: 'class', from, to: at, body: at };
    if (text === ';') return null;
    at = closings.get(at) ?? at;
  }
  return null;
}

/** `const name = (…) =>` and `const name = function`. */
function readVariable(source: Source, from: number): Declaration | null {
  const { tokens, closings } = source;
  const named = tokens[from + 1];
  if (named?.kind !== 'name') return null;
  let at = from + 2;
  // The type of the variable.
  for (let seen = 0; at < tokens.length && tokens[at]!.text !== '='; seen++) {
    if (/^[;,]$/.test(tokens[at]!.text) || seen === maxLookahead) return null;
    at = (closings.get(at) ?? at) + 1;
  }
  const value = tokens[at + 1]?.text === 'async' ? at + 2 : at + 1;
  const first = tokens[value];
  if (first === undefined) return null;
  if (first.text === 'function') {
    const whole = readFunction(source, from, value + 1);
    return whole && { ...whole, name: named.text };
  }
  const isOne = first.kind === 'name' && tokens[value + 1]?.text === '=>';
  if (isOne)
    return { name: named.text, kind: 'function', from, to: value + 1, body: toBody(tokens, value + 1) };
  if (first.text !== '(' && first.text !== '<') return null;
  const end = findSignatureEnd(source, value, true);
  return end && { name: named.text, kind: 'function', from, ...end };
}

const toBody = (tokens: readonly JsToken[], arrow: number): number | null =>
  tokens[arrow + 1]?.text === '{' ? arrow + 1 : null;

type SignatureEnd = Pick<Declaration, 'to' | 'body'>;

/** Goes over type parameters, parameters and the type of the result. Null where there are no parameters. */
function findSignatureEnd({ tokens, closings }: Source, from: number, isArrow: boolean): SignatureEnd | null {
  const parameters = skipTypeParameters(tokens, closings, from);
  if (tokens[parameters]?.text !== '(') return null;
  const behind = (closings.get(parameters) ?? tokens.length) + 1;
  for (let [at, seen] = [behind, 0]; at < tokens.length && seen < maxLookahead; at++, seen++) {
    const { text } = tokens[at]!;
    if (isArrow && text === '=>') return { to: at, body: toBody(tokens, at) };
    if (!isArrow && text === '{' && !isInsideType(tokens[at - 1]!)) return { to: at, body: at };
    if (text === ';') return isArrow ? null : { to: at, body: null };
    // An arrow function begins here, or nothing does.
    if (isArrow && at === behind && text !== ':') return null;
    if (tokens[at]!.isFirst && !isArrow && text !== '{' && isDeclared(tokens[at - 1]!))
      return { to: at, body: null };
    at = closings.get(at) ?? at;
  }
  return null;
}

/** The last token of something that has no body, such as an overload without a semicolon. */
const isDeclared = ({ kind, text }: JsToken): boolean => kind === 'name' || /^[)\]}>]$/.test(text);

/** Behind these a brace begins the type of an object, not a body. */
const isInsideType = ({ kind, text }: JsToken): boolean =>
  kind === 'mark'
    ? /^(?:[:|&<,([=?]|=>)$/.test(text)
    : /^(?:extends|implements|keyof|readonly|is|infer|typeof)$/.test(text);

function skipTypeParameters(
  tokens: readonly JsToken[],
  closings: ReadonlyMap<number, number>,
  from: number,
): number {
  if (tokens[from]?.text !== '<') return from;
  let depth = 0;
  for (let [at, seen] = [from, 0]; at < tokens.length && seen < maxLookahead; at++, seen++) {
    const { text } = tokens[at]!;
    if (text === '<') depth++;
    if (text === '>' && --depth === 0) return at + 1;
    at = closings.get(at) ?? at;
  }
  return tokens.length;
}

/** Methods of a class that others may call: not those that are private by their name or by what is said of them. */
function* readMembers(source: Source, body: number): Generator<{ member: Declaration; doc: string | null }> {
  const { tokens, closings } = source;
  const end = closings.get(body) ?? tokens.length;
  for (let at = body + 1; at < end;) {
    const next = skipModifiers(source, at);
    const named = tokens[next]?.text === '*' ? next + 1 : next;
    const name = tokens[named];
    const isMethod = name?.kind === 'name' && /^[(<]$/.test(tokens[named + 1]?.text ?? '');
    const found = isMethod && named < end ? findSignatureEnd(source, named + 1, false) : null;
    if (found === null || found.to > end) {
      at = skipMember(tokens, closings, at, end);
      continue;
    }
    const isPrivate =
      name!.text.startsWith('#') || tokens.slice(at, next).some(({ text }) => text === 'private');
    const member: Declaration = {
      name: name!.text,
      kind: 'method',
      from: skipDecorators(source, at),
      ...found,
    };
    if (!isPrivate) yield { member, doc: findDoc(tokens, at, named) };
    at = found.body === null ? found.to + 1 : (closings.get(found.body) ?? end) + 1;
  }
}

function skipDecorators({ tokens, closings }: Source, at: number): number {
  let next = at;
  while (tokens[next]?.text.startsWith('@')) next = skipDecorator(tokens, closings, next);
  return next;
}

/** Behind a field, to the next member: its semicolon, or the line after it. */
function skipMember(
  tokens: readonly JsToken[],
  closings: ReadonlyMap<number, number>,
  from: number,
  end: number,
): number {
  for (let at = from; at < end; at++) {
    if (tokens[at]!.text === ';') return at + 1;
    if (at > from && tokens[at]!.isFirst && isDeclared(tokens[at - 1]!)) return at;
    at = closings.get(at) ?? at;
  }
  return end;
}

const fileComment = /^(?:\ufeff)?(?:#![^\n]*\n)?\s*(\/\*[^]*?\*\/)/;

/** The first comment of the file, unless it documents what follows. */
function readFileComment(text: string, used: ReadonlySet<string>): string {
  const [, comment] = fileComment.exec(text) ?? [];
  return comment === undefined || used.has(comment) ? '' : cleanComment(comment);
}

/** Without the stars. */
function cleanComment(comment: string): string {
  const inside = comment.replace(/^\/\*+/, '').replace(/\**\/$/, '');
  const lines = inside.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  return lines.join('\n').trim();
}
