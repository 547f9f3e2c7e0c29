/** A server of the name given: makes a group with a sleeper in it, says so, and cleans up when its input ends. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { openCgroups } from './cgroups.ts';

const [name = ''] = process.argv.slice(2);
const input = createInterface(process.stdin)[Symbol.asyncIterator]();
await input.next();
const cgroups = openCgroups({ name });
const group = cgroups.make('run', { memoryBytes: 64 * 1024 * 1024, processes: 16, cpus: 1 });
const sleeper = spawn('sleep', ['60'], { stdio: 'ignore' });
await group.add(sleeper.pid!);
console.log(JSON.stringify({ kind: cgroups.kind, holds: cgroups.holds, sleeper: sleeper.pid }));
await input.next();
group.kill();
sleeper.kill('SIGKILL');
await cgroups.close();
