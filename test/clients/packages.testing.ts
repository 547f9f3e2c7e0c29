import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { lockFolder } from '../../src/platform/data-folder/data-folder.ts';
import { WorkcrateError } from '../../src/platform/errors.ts';

const names = ['package.json', 'package-lock.json', '.npmrc'];

/** Where packages are installed: outside the repository, once for each list of versions. */
const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'workcrate-tests');

/** Where the runner says why it could not install them: npm takes its time to give up, and once is enough. */
export const noClientsVariable = 'WORKCRATE_TEST_NO_CLIENTS';

/** The folder with the packages of the clients (about 1.3 GB, a minute), or why there is none. */
export async function installClients(): Promise<{ folder: string } | { reason: string }> {
  const told = process.env[noClientsVariable];
  if (told !== undefined) return { reason: told };
  const notice = 'the MCP clients of test/clients: about 1.3 GB, once';
  try {
    return { folder: await installLocked(join(import.meta.dirname, 'packages'), 'clients', notice) };
  } catch (error) {
    return { reason: `the clients cannot be installed by npm: ${describeFailure(error)}` };
  }
}

/**
 * The `node_modules` of a folder with `package.json`, `package-lock.json` and `.npmrc`, installed by npm where it is
 * not there. No script of a package is run, so nothing comes from elsewhere than npm's registry.
 */
export async function installLocked(manifests: string, name: string, notice: string): Promise<string> {
  const installed = join(cache, `${name}-${hashManifests(manifests)}`);
  const folder = join(installed, 'node_modules');
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  using _lock = await waitForLock(join(cache, 'installing'));
  if (existsSync(folder)) return folder;
  process.stderr.write(`installing ${notice}\n`);
  await installPackages(manifests, installed);
  return folder;
}

/** What is not whole never has the name that is looked for. */
async function installPackages(manifests: string, installed: string): Promise<void> {
  const staged = mkdtempSync(`${installed}-`);
  try {
    for (const name of names) copyFileSync(join(manifests, name), join(staged, name));
    const outer = /^npm_(package|lifecycle|config_(local|global)_prefix)/;
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: staged,
      timeout: 1_200_000,
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !outer.test(name))),
    });
    renameSync(staged, installed);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** Of npm's many lines the errors, in the order in which it tells them. */
function describeFailure(error: unknown): string {
  const { stderr = '' } = error as { stderr?: string };
  const told = stderr.split('\n').flatMap((line) => /^npm error (.+)/.exec(line)?.[1] ?? []);
  return told.slice(0, 3).join('; ') || String(error);
}

/** Another test process may be installing them. */
async function waitForLock(folder: string): Promise<Disposable> {
  for (;;)
    try {
      return lockFolder(folder);
    } catch (error) {
      if (!(error instanceof WorkcrateError) || error.code !== 'data_in_use') throw error;
      await sleep(500);
    }
}

function hashManifests(manifests: string): string {
  const hash = createHash('sha256');
  for (const name of names) hash.update(readFileSync(join(manifests, name)));
  return hash.digest('hex').slice(0, 16);
}
