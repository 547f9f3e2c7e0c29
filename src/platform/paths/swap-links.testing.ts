/** An attacker in a process of its own: exchanges things below the root for links that lead out, and back. */
import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { getErrno } from '../errors.ts';

const [root = ''] = process.argv.slice(2);
const victims = Object.entries({
  file: '../outside/secret',
  folder: '../outside',
  'outer/folder': '../../outside',
}).map(([path, target]) => ({ path: join(root, path), target }));

for (const { path, target } of victims) symlinkSync(target, `${path}.link`);
process.on('disconnect', () => process.exit());
process.send?.('swapping');
swapForever();

function swapForever(): void {
  for (let turn = 0; turn < 100; turn++) for (const { path } of victims) swap(path);
  // Lets the end of the test be noticed.
  setImmediate(swapForever);
}

function swap(path: string): void {
  move(path, `${path}.away`);
  move(`${path}.link`, path);
  move(path, `${path}.link`);
  move(`${path}.away`, path);
}

/** While the folder is away the server may make a new one in its place, and fill it; that one has to go. */
function move(from: string, to: string): void {
  while (!isDone(() => renameSync(from, to))) isDone(() => rmSync(to, { recursive: true, force: true }));
}

function isDone(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (!['EISDIR', 'ENOTEMPTY'].includes(getErrno(error) ?? '')) throw error;
    return false;
  }
}
