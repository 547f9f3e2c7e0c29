import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { beginning, seal, type Place } from './line.ts';
import { NotAFile, openRegularSync } from './regular.ts';

/** The last line that is known to be on disk, so that it shows when the end of the log is cut off. */
export interface Head extends Place {
  readonly file: string;
}

export const headFile = 'audit-head.json';

const form =
  /^\{"seq":(\d{1,16}),"hash":"([0-9a-f]{64})","file":"(audit-[\d-]{10}(?:\.\d{1,6})?\.jsonl)","seal":"[0-9a-f]{64}"\}\n$/;

function textOf({ seq, hash, file }: Head, key: string | null): string {
  const body = JSON.stringify({ seq, hash, file });
  return `${body.slice(0, -1)},"seal":"${seal(body, key)}"}\n`;
}

/** `missing`, or `changed` for what nobody wrote who has the key. */
export function readHead(folder: string, key: string | null): Head | 'missing' | 'changed' {
  try {
    const text = readShort(join(folder, headFile));
    const [, seq, hash, file] = form.exec(text) ?? [];
    if (seq === undefined || hash === undefined || file === undefined) return 'changed';
    const head = { seq: Number(seq), hash, file };
    return textOf(head, key) === text ? head : 'changed';
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return 'missing';
    if (error instanceof NotAFile) return 'changed';
    throw error;
  }
}

/** Nothing of what is far longer than a head. */
function readShort(path: string): string {
  const fd = openRegularSync(path, constants.O_RDONLY);
  try {
    return fstatSync(fd).size > 1024 ? '' : readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** Nothing that stands there already is opened: a pipe would wait for a reader. */
const fresh = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

/** Before the first line of all: a log that has lines and no head has lost it. */
export function beginHead(folder: string, file: string, key: string | null): void {
  const temporary = join(folder, `${headFile}.new`);
  rmSync(temporary, { force: true });
  const fd = openSync(temporary, fresh, 0o600);
  try {
    writeFileSync(fd, textOf({ ...beginning, file }, key));
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, join(folder, headFile));
}

/** Whole or not at all, and on disk when it resolves. */
export async function writeHead(folder: string, head: Head, key: string | null): Promise<void> {
  const temporary = join(folder, `${headFile}.new`);
  await rm(temporary, { force: true });
  {
    await using file = await open(temporary, fresh, 0o600);
    await file.writeFile(textOf(head, key));
    await file.datasync();
  }
  await rename(temporary, join(folder, headFile));
  await using entries = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  await entries.sync();
}
