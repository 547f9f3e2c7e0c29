/**
 * Reads a config file in YAML or JSON into flat keys, with the line of each for messages. It does not know which keys
 * exist: `config.ts` does.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Node, YAMLMap } from 'yaml';
import { getErrno, WorkcrateError } from '../errors.ts';

type Yaml = typeof import('yaml');

/** Loaded for a config file alone: it has 72 files, and stdio would load them before its first answer. */
const loadYaml = (): Yaml => createRequire(import.meta.url)('yaml') as Yaml;

/** A value of the config file as text, and the line that holds it. */
export interface FileValue {
  readonly text: string;
  readonly line: number;
}

/**
 * Reads a config file (YAML, hence JSON too) into flat keys: `b` below `a` is `a.b`. What is wrong is named with its
 * line. The value of a `structured` key is given as JSON.
 */
export function readConfigFile(
  path: string,
  structured: ReadonlySet<string> = new Set(),
): Map<string, FileValue> {
  const { isMap, isScalar, isSeq, LineCounter, parseDocument } = loadYaml();
  const lines = new LineCounter();
  const document = parseDocument(readConfigText(path), { lineCounter: lines, prettyErrors: false });
  const lineOf = (node: Node | null | undefined): number => lines.linePos(node?.range?.[0] ?? 0).line;
  const [problem] = document.errors;
  if (problem) failAtLine(path, lines.linePos(problem.pos[0]).line, problem.message);
  const values = new Map<string, FileValue>();
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) return values;
  if (!isMap(contents)) failAtLine(path, 1, 'the file must hold `key: value` lines');
  for (const [name, key, value] of readMapEntries(contents)) {
    const line = lineOf(key);
    if (values.has(name)) failAtLine(path, line, `${name} is set twice`);
    const text =
      structured.has(name) && isSeq(value) ? JSON.stringify(value) : toSettingText(path, name, line, value);
    values.set(name, { text, line });
  }
  return values;
}

/** Keys below a key come with it before them, one level deep. */
function* readMapEntries(
  map: YAMLMap,
  prefix = '',
): Generator<[name: string, key: Node, value: Node | null]> {
  const { isMap, isScalar } = loadYaml();
  for (const { key, value } of map.items) {
    const name = prefix + (isScalar(key) ? String(key.value) : String(key));
    if (prefix === '' && isMap(value)) yield* readMapEntries(value, `${name}.`);
    else yield [name, key as Node, value as Node | null];
  }
}

/** A list becomes what the same setting takes as text: its items with commas between. */
function toSettingText(path: string, key: string, line: number, node: Node | null): string {
  if (node === null) return '';
  const { isScalar, isSeq } = loadYaml();
  if (isScalar(node)) return toScalarText(node.value);
  if (isSeq(node) && node.items.every((item) => isScalar(item)))
    return node.items.map((item) => toScalarText(item.value)).join(',');
  return failAtLine(path, line, `${key} must be one value or a list of values`);
}

function toScalarText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '').replace(/^""$/, '');
}

function readConfigText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = getErrno(error) === 'ENOENT' ? 'there is no such file' : (error as Error).message;
    throw new WorkcrateError('config_invalid', `cannot read the config file ${path}: ${reason}`, {
      cause: error,
    });
  }
}

export function failAtLine(path: string, line: number, what: string): never {
  throw new WorkcrateError('config_invalid', `${path}, line ${line}: ${what}`, { details: { line } });
}
