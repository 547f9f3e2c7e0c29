/** A Node that is too old to run Workcrate, to see what it does with the launcher. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

export interface OldNode {
  readonly version: string;
  /** How a program is started with it. */
  readonly command: readonly string[];
}

/** This Node, made to say that it is an older one. What it starts says the truth again. */
export async function pretendOldNode(folder: string): Promise<OldNode> {
  const version = '20.20.2';
  const pretend = join(folder, 'pretend.cjs');
  await writeFile(pretend, `Object.defineProperty(process.versions, 'node', { value: '${version}' });`);
  return { version, command: [process.execPath, '--require', pretend] };
}

/** A real old Node where the machine has one, as Debian has; else a pretended one. */
export async function findOldNode(folder: string): Promise<OldNode> {
  const places = (process.env['PATH'] ?? '').split(delimiter).map((place) => join(place, 'node'));
  for (const node of new Set(places.filter((place) => existsSync(place)))) {
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1);
    if (Number.parseInt(version, 10) < 26) return { version, command: [node] };
  }
  return pretendOldNode(folder);
}
