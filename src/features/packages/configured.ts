/**
 * Asks pip and npm of this machine which registries they are configured with, as the operator would find them in a shell.
 * Nothing is installed, and no registry is asked.
 */
import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { getErrno } from '../../platform/errors.ts';

const registryAnswerMs = 20_000;
const maxOutput = 200_000;

/** What it prints; null where it cannot be run, or takes too long. Not in a folder that may have settings of its own. */
async function run(program: string, args: readonly string[]): Promise<string | null> {
  try {
    const limits = { timeout: registryAnswerMs, maxBuffer: maxOutput, cwd: '/' };
    return (await promisify(execFile)(program, args, limits)).stdout;
  } catch {
    return null;
  }
}

export interface ConfiguredIndexes {
  /** Null where pip does not tell. */
  readonly index: string | null;
  /** Further ones that pip looks into. */
  readonly extra: readonly string[];
  /** The one that it uses if nobody says otherwise, and the host of its files. */
  readonly standard: { readonly index: string; readonly fileHost: string } | null;
}

export const unknownIndexes: ConfiguredIndexes = { index: null, extra: [], standard: null };

/** It has no setting for this, and no other way to be asked. */
const askStandard =
  'from pip._internal.models.index import PyPI; print(PyPI.simple_url, PyPI.file_storage_domain)';

/** Of all that names a setting, the last counts: files of the machine, then of the user, then variables. */
export async function askPip(python: string): Promise<ConfiguredIndexes> {
  const [settings, told] = await Promise.all([
    run(python, ['-m', 'pip', 'config', 'list']),
    run(python, ['-c', askStandard]),
  ]);
  const lines = (settings ?? '').split('\n');
  const find = (name: string): string[] => {
    const found = ['global', 'install', ':env:'].flatMap((section) =>
      lines.filter((line) => line.startsWith(`${section}.${name}=`)),
    );
    const value = found.at(-1)?.split('=').slice(1).join('=') ?? '';
    // Python quotes it, with its line breaks.
    return value.replaceAll(/^['"]|['"]$/g, '').split(/\\n|\s+/);
  };
  const [index, fileHost] = told?.trim().split(' ') ?? [];
  const standard =
    index !== undefined && fileHost !== undefined && isRegistryUrl(index) ? { index, fileHost } : null;
  return {
    index: find('index-url').find(isRegistryUrl) ?? standard?.index ?? null,
    extra: find('extra-index-url').filter(isRegistryUrl),
    standard,
  };
}

export async function askNpm(npmFolder: string): Promise<string | null> {
  const answer = await run(process.execPath, [`${npmFolder}/bin/npm-cli.js`, 'config', 'get', 'registry']);
  const address = answer?.trim() ?? '';
  return isRegistryUrl(address) ? address : null;
}

const isRegistryUrl = (text: string): boolean => /^https?:\/\/\S+$/.test(text) && URL.canParse(text);

/**
 * The folder of npm, by the path of its program: a link to `npm-cli.js` in most installations. Null where it is something
 * else, such as a script that chooses among several, and where its own packages are elsewhere: Debian's works with
 * Debian's Node alone.
 */
export function findNpmFolder(program: string | null): string | null {
  if (program === null) return null;
  try {
    const path = realpathSync(program);
    const folder = dirname(dirname(path));
    return basename(path) === 'npm-cli.js' && existsSync(join(folder, 'node_modules')) ? folder : null;
  } catch (error) {
    if (getErrno(error) !== null) return null;
    throw error;
  }
}
