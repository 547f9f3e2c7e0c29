import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { temporaryFolder } from './cli.testing.ts';

export type Revision = '2025-11-25' | '2026-07-28';

export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

const suite = dirname(
  createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'),
);
const expectedFailures = join(import.meta.dirname, 'expected-failures.yml');

/** Runs what a revision requires against a server, and tells the outcome of every check. */
export const runSuite = (url: string, revision: Revision): Promise<{ exitCode: number; checks: Check[] }> =>
  runChecks(url, ['--requirements', revision, '--expected-failures', expectedFailures]);

/** Runs one scenario by itself, such as that of an extension, which no revision requires. */
export async function runScenario(url: string, scenario: string, revision: Revision): Promise<Check[]> {
  const { checks } = await runChecks(url, ['--scenario', scenario, '--spec-version', revision, '--force']);
  return checks;
}

async function runChecks(
  url: string,
  flags: readonly string[],
): Promise<{ exitCode: number; checks: Check[] }> {
  await using results = await temporaryFolder();
  const { promise, resolve } = Promise.withResolvers<number>();
  const child = execFile(
    process.execPath,
    [join(suite, 'dist/index.js'), 'server', '--url', `${url}/mcp`, ...flags, '-o', results.path],
    { maxBuffer: 64 * 1024 ** 2, timeout: 300_000 },
    () => resolve(child.exitCode ?? -1),
  );
  return { exitCode: await promise, checks: await readChecks(results.path) };
}

/** Each scenario leaves a folder `server-NAME-TIME` with its checks. */
async function readChecks(folder: string): Promise<Check[]> {
  const checks: Check[] = [];
  for (const entry of await readdir(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)![1]!;
    const written = await readFile(join(folder, entry, 'checks.json'), 'utf8');
    checks.push(...(JSON.parse(written) as Check[]).map((check) => ({ ...check, scenario })));
  }
  return checks;
}

/** The scenarios that count for a revision. */
export async function scoredScenarios(revision: Revision): Promise<string[]> {
  const text = await readFile(join(suite, 'requirements', `${revision}.yaml`), 'utf8');
  return (parse(text) as { server: string[] }).server;
}

export async function expectedToFail(): Promise<string[]> {
  return (parse(await readFile(expectedFailures, 'utf8')) as { server: string[] }).server;
}

/** One line for each check that is not as it should be: what a failed test prints. */
export function complaints(checks: readonly Check[]): string[] {
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ scenario, id, status, errorMessage }) => `${scenario}: ${id}: ${status}: ${errorMessage}`);
}
