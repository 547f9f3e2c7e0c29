'use strict';
// Waits in the sandbox for a task (folder, NUL, code) on descriptor 3 and runs it as the main module.
const { closeSync, readFileSync } = require('node:fs');
const { Module, registerHooks } = require('node:module');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { Script } = require('node:vm');

const task = readFileSync(3);
closeSync(3);
const end = task.indexOf(0);
process.chdir(task.subarray(0, end).toString());
const code = task.subarray(end + 1).toString();
const filename = join(process.cwd(), 'main.js');
process.argv = [process.argv[0], filename];

if (isCommonJs()) runCommonJs();
else runModule();

function isCommonJs() {
  try {
    return Boolean(new Script(Module.wrap(code), { filename }));
  } catch {
    return false;
  }
}

function runCommonJs() {
  const main = new Module(filename, null);
  main.filename = filename;
  main.paths = Module._nodeModulePaths(process.cwd());
  process.mainModule = main;
  main._compile(code, filename, 'commonjs');
}

/** Import, export and await at the top: the loader is told of a file that is not there. */
function runModule() {
  const url = pathToFileURL(filename).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === url && context.parentURL?.endsWith('/driver.cjs')
        ? { url, format: 'module', shortCircuit: true }
        : next(specifier, context),
    load: (given, context, next) =>
      given === url ? { format: 'module', source: code, shortCircuit: true } : next(given, context),
  });
  void import(url);
}
