import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isWorkcrateError } from '../errors.ts';
import type { WalkMethodName, OpenFile, PathRefusalKind } from './paths.ts';

export const allFootings: WalkMethodName[] = ['descriptors', 'lookups'];

export interface Playground extends Disposable {
  readonly root: string;
  /** Beside the root, and holds a file `secret`. */
  readonly outside: string;
}

export function playground(): Playground {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'workcrate-paths-')));
  const root = join(directory, 'root');
  const outside = join(directory, 'outside');
  mkdirSync(join(root, 'folder'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(root, 'file'), 'inside');
  writeFileSync(join(root, 'folder', 'file'), 'inside');
  writeFileSync(join(outside, 'secret'), 'secret');
  return { root, outside, [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
}

export function textOf(file: OpenFile): string {
  using open = file;
  return readFileSync(open.fd, 'utf8');
}

export function refusedAs(kind: PathRefusalKind): (error: unknown) => boolean {
  return (error) => isWorkcrateError(error, 'path_refused') && error.details['kind'] === kind;
}

export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}
