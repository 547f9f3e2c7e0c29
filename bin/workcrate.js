#!/usr/bin/env -S node --max-semi-space-size=4
// Only what Node 12 can read: an old Node must get this far to be told, or to hand over to a newer one.
import { spawn } from 'child_process';
import { existsSync } from 'fs';
import { fileURLToPath } from 'url';

const needed = 26;
const found = process.versions.node;

/** The Node that `npm ci` puts beside a checkout. */
const own = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));

if (Number(found.split('.')[0]) >= needed) void import('./start.js');
else if (existsSync(own)) handOver();
else {
  process.stderr.write(
    `workcrate: this is Node ${found}, and workcrate needs Node ${needed}. ` +
      `In a checkout \`npm ci\` brings it; elsewhere \`npm install --global node@${needed}\` does.\n`,
  );
  process.exitCode = 1;
}

function handOver() {
  // A small nursery: a gigabyte that passes through leaves 20 MB less behind (decision 012).
  const words = ['--max-semi-space-size=4', fileURLToPath(import.meta.url)].concat(process.argv.slice(2));
  const child = spawn(own, words, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`workcrate: cannot run ${own}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? code : 1;
  });
}
