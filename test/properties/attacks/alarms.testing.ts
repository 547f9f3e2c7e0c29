import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Ears } from './ears.testing.ts';

interface Watched {
  readonly ears: Ears;
  /** Files and folders that must stay as they are. */
  readonly watched: readonly string[];
  readonly neighbour: ChildProcess;
}

/** Looks at the machine from outside. Each change is told once. */
export function alarms({ ears, watched, neighbour }: Watched): () => string | null {
  let before = factsOf(watched);
  return () => {
    const now = factsOf(watched);
    const changed = [...now]
      .filter(([what, is]) => before.get(what) !== is)
      .map(([what]) => `${what} changed`);
    before = now;
    const dead =
      neighbour.exitCode !== null || neighbour.signalCode !== null ? ['a neighbour was killed'] : [];
    const words = [...changed, ...dead, ...ears.heard().map((what) => `${what} was reached`)];
    return words.length === 0 ? null : words.join('; ');
  };
}

const settings = ['core_pattern', 'hostname', 'modprobe', 'printk', 'panic'];

function factsOf(watched: readonly string[]): Map<string, string> {
  const drift = Date.now() - performance.timeOrigin - performance.now();
  return new Map([
    ...settings.map((name): [string, string] => [`/proc/sys/kernel/${name}`, setting(name)]),
    ['the host name', hostname()],
    // To ten minutes: clocks are corrected in smaller steps.
    ['the clock', `${Math.round(drift / 600_000)}`],
    ...watched.map((path): [string, string] => [path, digestOf(path)]),
  ]);
}

function setting(name: string): string {
  try {
    return readFileSync(`/proc/sys/kernel/${name}`, 'latin1');
  } catch {
    return 'none';
  }
}

/** Of names, modes, owners and contents. Not of times: reading may change them. */
function digestOf(path: string): string {
  const hash = createHash('sha256');
  const add = (path: string): void => {
    const stats = lstatSync(path);
    hash.update(`${path} ${stats.mode} ${stats.uid} ${stats.nlink} ${stats.size}\n`);
    if (stats.isFile()) hash.update(readFileSync(path));
    if (stats.isSymbolicLink()) hash.update(readlinkSync(path));
    if (stats.isDirectory()) for (const name of readdirSync(path).sort()) add(join(path, name));
  };
  add(path);
  return hash.digest('hex');
}
