'use strict';
// Waits in the sandbox for a task (folder, NAME=VALUE…, nothing, each ended by NUL, then code) on descriptor 3 and runs it as the main module. It does
// what nodeDriver in sandbox/drivers.ts does; a file started faster than `node -e` where it was measured.
const { closeSync, mkdirSync, readFileSync } = require('node:fs');
const { Module, registerHooks } = require('node:module');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { compileFunction } = require('node:vm');

const moduleSyntax =
  /outside a module|Unexpected token 'export'|await is only valid|reserved word|missing \) after argument list|Unexpected identifier/;

const task = readFileSync(3);
closeSync(3);
let at = 0;
const [folder, ...environment] = readHeader();
for (const entry of environment)
  process.env[entry.slice(0, entry.indexOf('='))] = entry.slice(entry.indexOf('=') + 1);
// Node looks for these at its start, which was before the task came.
if (process.env.NODE_USE_ENV_PROXY === '1') require('node:http').setGlobalProxyFromEnv();
if (process.env.NODE_EXTRA_CA_CERTS) {
  const tls = require('node:tls');
  const own = readFileSync(process.env.NODE_EXTRA_CA_CERTS, 'utf8');
  tls.setDefaultCACertificates([...tls.getCACertificates('bundled'), own]);
}
if (/^\/(?:tmp|home\/user)\//.test(folder)) mkdirSync(folder, { recursive: true });
process.chdir(folder);
const source = task.subarray(at).toString();
const filename = join(process.cwd(), 'main.js');
process.argv = [process.argv[0], filename];

if (isModule()) runModule();
else runCommonJs();

function readHeader() {
  const texts = [];
  for (;;) {
    const end = task.indexOf(0, at);
    const text = task.subarray(at, end).toString();
    at = end + 1;
    if (text === '') return texts;
    texts.push(text);
  }
}

function isModule() {
  try {
    compileFunction(source, ['exports', 'require', 'module', '__filename', '__dirname'], { filename });
    return false;
  } catch (error) {
    return (
      error instanceof SyntaxError &&
      /\b(?:import|export|await)\b/.test(source) &&
      moduleSyntax.test(error.message)
    );
  }
}

function runCommonJs() {
  const main = new Module(filename, null);
  main.filename = filename;
  main.paths = Module._nodeModulePaths(process.cwd());
  process.mainModule = require.main = main;
  main._compile(source, filename, 'commonjs');
  main.loaded = true;
}

/** The loader gets the name of a file that does not exist. */
function runModule() {
  const url = pathToFileURL(filename).href;
  const hooks = registerHooks({
    resolve: (name, context, next) =>
      name === url ? { url, format: 'module', shortCircuit: true } : next(name, context),
    load: (at, context, next) =>
      at === url ? { source, format: 'module', shortCircuit: true } : next(at, context),
  });
  let settled = false;
  void import(url).then(() => (settled = true));
  process.once('beforeExit', () => {
    if (settled) return;
    console.error('Warning: Detected unsettled top-level await');
    process.exitCode ??= 13;
  });
  setImmediate(() => hooks.deregister());
}
