#!/usr/bin/env -S node --max-semi-space-size=4
// Only what Node 12 can read: an old Node must get this far to hand over to a newer one, or to say what to do.
import { spawn, spawnSync } from 'child_process';
import { createRequire } from 'module';
import { dirname, join } from 'path';
import { fileURLToPath } from 'url';
import { findMissingLibrary, needed, nodePackage, refuse, refuseWithoutLibrary } from './old-node.js';

const found = process.versions.node;
const getMajor = (version) => Number(version.split('.')[0]);

if (getMajor(found) >= needed) void import('./start.js');
else {
  const own = findOwnNode();
  if (own === null) refuse(`this is Node ${found}, and workcrate needs Node ${needed}`);
  else tryThenHandOver(own);
}

/** The Node that npm installed with this package, wherever npm put it; null where it was left out. */
function findOwnNode() {
  const require = createRequire(import.meta.url);
  try {
    const manifest = require.resolve(`${nodePackage}/package.json`);
    return getMajor(require(manifest).version) >= needed ? join(dirname(manifest), 'bin/node') : null;
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

/** A Node that is there can still lack a library, or be for another C library: it is tried before it gets the streams. */
function tryThenHandOver(own) {
  const tried = spawnSync(own, ['--version'], { encoding: 'utf8' });
  if (tried.status === 0) return handOver(own);
  const said = tried.error ? tried.error.message : tried.stderr.trim();
  const library = findMissingLibrary(said);
  if (library !== null) return refuseWithoutLibrary(found, library);
  refuse(`this is Node ${found}, and ${own} cannot be run (${said || tried.signal || tried.status})`);
}

function handOver(own) {
  // A small nursery: a gigabyte that passes through leaves 20 MB less behind (decision 012).
  const words = ['--max-semi-space-size=4', fileURLToPath(import.meta.url)].concat(process.argv.slice(2));
  const child = spawn(own, words, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => refuse(`this is Node ${found}, and ${own} cannot be run (${error.message})`));
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? code : 1;
  });
}
