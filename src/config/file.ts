import { readFileSync } from 'node:fs';
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml';
import { errnoOf, WorkcrateError } from '../errors.ts';

/** A value of the config file as text, and the line that holds it. */
export interface FileValue {
  readonly text: string;
  readonly line: number;
}

/** Reads a config file (YAML, hence JSON too) into flat keys; what is wrong is named with its line. */
export function readConfigFile(path: string): Map<string, FileValue> {
  const lines = new LineCounter();
  const document = parseDocument(readText(path), { lineCounter: lines, prettyErrors: false });
  const lineOf = (node: Node | null | undefined): number => lines.linePos(node?.range?.[0] ?? 0).line;
  const [problem] = document.errors;
  if (problem) fail(path, lines.linePos(problem.pos[0]).line, problem.message);
  const values = new Map<string, FileValue>();
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) return values;
  if (!isMap(contents)) fail(path, 1, 'the file must hold `key: value` lines');
  for (const { key, value } of contents.items) {
    const name = isScalar(key) ? String(key.value) : String(key);
    const line = lineOf(key as Node);
    values.set(name, { text: textOf(path, name, line, value as Node | null), line });
  }
  return values;
}

/** A list becomes what the same setting takes as text: its items with commas between. */
function textOf(path: string, key: string, line: number, node: Node | null): string {
  if (node === null) return '';
  if (isScalar(node)) return scalarText(node.value);
  if (isSeq(node) && node.items.every((item) => isScalar(item)))
    return node.items.map((item) => scalarText(item.value)).join(',');
  return fail(path, line, `${key} must be one value or a list of values`);
}

function scalarText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '').replace(/^""$/, '');
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = errnoOf(error) === 'ENOENT' ? 'there is no such file' : (error as Error).message;
    throw new WorkcrateError('config_invalid', `cannot read the config file ${path}: ${reason}`, {
      cause: error,
    });
  }
}

export function fail(path: string, line: number, what: string): never {
  throw new WorkcrateError('config_invalid', `${path}, line ${line}: ${what}`, { details: { line } });
}
