/**
 * Reads the file of named secrets (YAML or JSON) that an operator wrote. Its errors name the file, the line or the
 * entry, and never a value. It reads no environment itself: it is given a way to.
 */
import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { getErrno, WorkcrateError } from '../../platform/errors.ts';
import { formatBytes } from '../../platform/text/text.ts';
import type { SecretOptions } from './secrets.ts';

const maxSecretFileBytes = 1024 * 1024;
const maxSecrets = 200;

const secretEntry = z.strictObject({
  name: z.string(),
  scheme: z.enum(['http', 'https']).optional(),
  host: z.string(),
  port: z.int().optional(),
  header: z.string(),
  /** Before the value, such as "Bearer ". */
  prefix: z.string().max(100).optional(),
  value: z.string().optional(),
  value_file: z.string().optional(),
  value_env: z.string().optional(),
  users: z.array(z.string()).optional(),
});
const secretFile = z.strictObject({ secrets: z.array(secretEntry).max(maxSecrets) });

type SecretEntry = z.infer<typeof secretEntry>;

/** Gives the value of an environment variable. */
export type ReadVariable = (name: string) => string | undefined;

export function loadSecrets(path: string, readVariable: ReadVariable): SecretOptions[] {
  const parsed = secretFile.safeParse(parseYaml(path, readPrivateFile(path)));
  if (!parsed.success) {
    const [{ path: keys, message }] = parsed.error.issues as [z.core.$ZodIssue];
    throw failEntry(path, `${keys.length === 0 ? 'it' : keys.join('.')}: ${message}`);
  }
  return parsed.data.secrets.map((entry) => toSecretOptions(path, entry, readVariable));
}

function toSecretOptions(path: string, entry: SecretEntry, readVariable: ReadVariable): SecretOptions {
  const { prefix = '', value, value_file, value_env, ...rest } = entry;
  if ([value, value_file, value_env].filter((source) => source !== undefined).length !== 1)
    throw failEntry(path, `${entry.name} needs one of value, value_file and value_env`);
  return { ...rest, value: prefix + readValue(path, entry, readVariable) };
}

function readValue(path: string, entry: SecretEntry, readVariable: ReadVariable): string {
  const { name, value, value_file, value_env } = entry;
  if (value !== undefined) return value;
  // Editors and tools end a file with a newline, which is not part of a key.
  if (value_file !== undefined)
    return readPrivateFile(resolve(dirname(path), value_file)).replace(/\r?\n$/, '');
  const found = readVariable(value_env!);
  if (found === undefined || found === '')
    throw failEntry(path, `${name}: the environment variable ${value_env} is not set`);
  return found;
}

/** The file that is judged is the one that is read. */
function readPrivateFile(path: string): string {
  const file = openPrivateFile(path);
  try {
    const stats = fstatSync(file);
    const fault = findModeFault(stats);
    if (fault !== null) throw failEntry(path, fault);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function openPrivateFile(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw failEntry(path, getErrno(error) === 'ENOENT' ? 'there is no such file' : (error as Error).message);
  }
}

function findModeFault(stats: Stats): string | null {
  if (!stats.isFile()) return 'it is not a file';
  if (stats.size > maxSecretFileBytes) return `it has more than ${formatBytes(maxSecretFileBytes)}`;
  const isOpen = (stats.mode & 0o027) !== 0;
  return isOpen ? 'others can read it, or its group can write it; chmod 600 it' : null;
}

/** Messages of the parser may repeat what they complain about, so its code and line have to do. */
function parseYaml(path: string, text: string): unknown {
  const { LineCounter, parseDocument } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [problem] = document.errors;
  if (problem !== undefined)
    throw failEntry(path, `line ${lines.linePos(problem.pos[0]).line} is not YAML (${problem.code})`);
  try {
    return document.toJS({ maxAliasCount: 0 }) as unknown;
  } catch {
    throw failEntry(path, 'it uses an alias (*), which is not allowed; quote values that begin with a star');
  }
}

const failEntry = (path: string, what: string): WorkcrateError =>
  new WorkcrateError('config_invalid', `The file of network secrets ${path}: ${what}.`);
