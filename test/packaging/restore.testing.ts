import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { environment } from '../behaviour/cli/program.testing.ts';

const checkout = join(import.meta.dirname, '../..');

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the lines that the operator's guide gives, with other folders than its own: the block of commands that stands
 * below this heading and has this word in it.
 */
export async function asTheGuideSays(
  heading: string,
  word: string,
  env: Record<string, string>,
): Promise<Said> {
  const lines = (await blockOf(heading, word)).split('\n');
  if (!lines[0]!.startsWith('DATA=')) throw new Error('the first line of the block names the folders');
  return shell(lines.slice(1).join('\n'), env);
}

export async function sectionOf(heading: string): Promise<string> {
  const guide = await readFile(join(checkout, 'docs/guide/backup.md'), 'utf8');
  return guide.split(/^#+ /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
}

/** The names that stand directly in the data folder, as the guide draws it. */
export async function folderTree(): Promise<Set<string>> {
  const [, tree = ''] = /^```\n(.*?)^```/ms.exec(await sectionOf('The data folder')) ?? [];
  const lines = tree.split('\n').filter((line) => /^ {2}\S/.test(line));
  return new Set(lines.flatMap((line) => namesIn(line.trim().split(/ {2,}/, 1)[0]!)));
}

/** `a.db, -wal` is a.db and a.db-wal; of `logs/….jsonl` the folder counts. */
function namesIn(cell: string): string[] {
  const [first = '', ...more] = cell.split(', ');
  return [first, ...more.map((name) => (name.startsWith('-') ? first + name : name))].map(
    (name) => name.split('/', 1)[0]!,
  );
}

async function blockOf(heading: string, word: string): Promise<string> {
  const section = await sectionOf(heading);
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```/gms)].map((match) => match[1]!);
  const block = blocks.find((text) => text.includes(word));
  if (block === undefined) throw new Error(`docs/guide/backup.md has no block with ${word} below ${heading}`);
  return block;
}

/** As a person at a shell in the checkout would have it: line after line, whatever the one before came to. */
export async function shell(script: string, env: Record<string, string>): Promise<Said> {
  const PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin:${environment.PATH}`;
  // npx writes to npm's cache, which is not to be in the home folder of the programs under test.
  const npm_config_cache = process.env['npm_config_cache'] ?? join(homedir(), '.npm');
  const options = { env: { ...environment, PATH, npm_config_cache, ...env }, cwd: checkout, timeout: 60_000 };
  try {
    return { code: 0, ...(await promisify(execFile)('/bin/sh', ['-c', script], options)) };
  } catch (error) {
    const { code, stdout, stderr } = error as Said;
    return { code, stdout, stderr };
  }
}
