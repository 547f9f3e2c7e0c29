import { join } from 'node:path';
import type { Place } from './programs.testing.ts';
import { runAlone } from './run-client.testing.ts';
import type { Result } from './sdk-v1.testing.ts';

/** Calls a tool by the Inspector's command line. */
export async function callByInspector(
  packages: string,
  place: Place,
  tool: string,
  input: Record<string, unknown>,
): Promise<Result> {
  const pairs = Object.entries(input).map(([name, value]) => `${name}=${String(value)}`);
  const { stdout } = await inspect(
    packages,
    place,
    'tools/call',
    '--tool-name',
    tool,
    '--tool-arg',
    ...pairs,
  );
  return JSON.parse(stdout) as Result;
}

/** Has the Inspector judge the schemas of all tools. */
export async function listByInspector(
  packages: string,
  place: Place,
): Promise<{ tools: unknown[]; errors: number }> {
  const { stdout, stderr } = await inspect(packages, place, 'tools/list', '--strict');
  const errors = /(\d+) errors?,/.exec(stderr)?.[1] ?? '0';
  return { ...(JSON.parse(stdout) as { tools: unknown[] }), errors: Number(errors) };
}

async function inspect(packages: string, place: Place, method: string, ...more: string[]) {
  const target = 'url' in place ? [place.url] : [place.command, ...place.args];
  const program = join(packages, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
  const args = [program, '--cli', ...target, '--method', method, ...more];
  const finished = await runAlone({ command: process.execPath, args, env: {} });
  if (finished.code !== 0) throw new Error(`the Inspector ended with ${finished.code}: ${finished.stderr}`);
  return finished;
}
