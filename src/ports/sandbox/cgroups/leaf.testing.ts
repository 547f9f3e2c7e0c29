/** Moves itself and its relatives to the leaf of the group given, with a child that it has, and waits. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { moveToLeaf } from './versions.ts';

const [base = ''] = process.argv.slice(2);
await once(process.stdin, 'data');
const child = spawn('sleep', ['60'], { stdio: 'ignore' });
moveToLeaf(base);
console.log(JSON.stringify([process.ppid, process.pid, child.pid]));
process.stdin.on('end', () => child.kill('SIGKILL'));
