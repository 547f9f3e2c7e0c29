'use strict';
// A Node session: runs cells that come over the socket on descriptor 3, in one global scope. The code that it runs can
// write to that socket too; the router on the other side believes nothing.
const { AsyncLocalStorage } = require('node:async_hooks');
const { ReadStream, writeSync } = require('node:fs');
const { Session } = require('node:inspector');
const { createRequire, registerHooks } = require('node:module');
const { Socket } = require('node:net');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { inspect } = require('node:util');
const { promiseHooks } = require('node:v8');
const { Script } = require('node:vm');

const connection = 3;
const mostResults = 16;
const mostText = 2000;
const mostWholeText = 10_000_000;
const mostPayload = 16 * 1024 ** 2;
const inspectOptions = { depth: 4, maxArrayLength: 100, maxStringLength: 100_000, breakLength: 100 };

// Code of a cell is found by these: it has no other way to a function of ours.
const runKey = Symbol.for('workcrate.run');
const takeKey = Symbol.for('workcrate.take');
const importKey = Symbol.for('workcrate.import');

const folder = process.cwd();
require('./session-packages.cjs').seePackages(process.argv[2]);
process.argv = [process.argv[0]];

const inspector = new Session();
inspector.connect();
const runGuarded = new Script(`globalThis[Symbol.for('workcrate.run')]()`, { filename: 'workcrate' });
const cellOf = new AsyncLocalStorage();

let cell = null;

function writeFrame(header, payload = Buffer.alloc(0)) {
  const text = Buffer.from(JSON.stringify(header));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUInt32BE(payload.length, 4);
  writeAll(connection, Buffer.concat([lengths, text, payload]));
}

function writeAll(descriptor, data) {
  for (let at = 0; at < data.length;)
    try {
      at += writeSync(descriptor, data, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
}

// Values.

function toText(value) {
  try {
    return inspect(value, inspectOptions);
  } catch (error) {
    return `<a value whose inspection raised ${error?.name ?? typeof error}>`;
  }
}

/** Forms of a value beside its text: pictures in a Buffer, and what the method that Deno's notebooks call gives. */
function toParts(value) {
  try {
    if (value instanceof Uint8Array) {
      const start = Buffer.from(value.buffer, value.byteOffset, Math.min(value.length, 8)).toString('latin1');
      if (start.startsWith('\x89PNG')) return [['image/png', Buffer.from(value), 'png']];
      if (start.startsWith('\xff\xd8\xff')) return [['image/jpeg', Buffer.from(value), 'jpg']];
    }
    const bundle = value?.[Symbol.for('Jupyter.display')]?.();
    if (typeof bundle !== 'object' || bundle === null) return [];
    return Object.entries(bundle)
      .filter(([mime]) => /^[\w.+-]+\/[\w.+-]+$/.test(mime) && mime !== 'text/plain' && mime.length < 100)
      .slice(0, 16)
      .map(([mime, data]) => [mime, encodePart(mime, data), endings[mime] ?? 'bin'])
      .filter(([, data]) => data !== null && data.length > 0);
  } catch {
    return [];
  }
}

const endings = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'text/html': 'html',
  'text/markdown': 'md',
  'application/json': 'json',
};

function encodePart(mime, data) {
  if (data instanceof Uint8Array) return Buffer.from(data);
  if (typeof data === 'string') return Buffer.from(data, /^text\/|xml$|json$/.test(mime) ? 'utf8' : 'base64');
  return mime.endsWith('json') ? Buffer.from(JSON.stringify(data)) : null;
}

function show(value, kind) {
  if (cell === null || isMuted()) return;
  if (cell.shown >= mostResults) return void cell.beyond++;
  const number = ++cell.shown;
  const whole = toText(value);
  const cut = whole.length > mostText;
  const parts = toParts(value);
  if (cut)
    parts.push(['text/plain', Buffer.from(whole.slice(0, mostWholeText)).subarray(0, mostWholeText), 'txt']);
  let left = mostPayload;
  const kept = parts.filter(([, data]) => data.length <= left && (left -= data.length) >= 0);
  const header = { type: 'result', cell: cell.number, kind, text: whole.slice(0, mostText), cut };
  header.parts = kept.map(([mime, data, ending]) => ({
    mime,
    size: data.length,
    name: `result-${number}.${ending}`,
  }));
  writeFrame(header, Buffer.concat(kept.map(([, data]) => data)));
}

// Code.

/**
 * What V8 does not allow in code like this: imports, which go through a function of ours, and `let` of a name that was
 * `const` in another cell, so that every name at the top level is `let`.
 */
const rewriteCode = (() => {
  let acorn, walk;
  try {
    acorn = require('internal/deps/acorn/acorn/dist/acorn');
    walk = require('internal/deps/acorn/acorn-walk/dist/walk');
  } catch {
    return (code) => code;
  }
  const importer = `globalThis[Symbol.for('workcrate.import')]`;
  return (code) => {
    let tree;
    try {
      tree = acorn.parse(code, {
        ecmaVersion: 'latest',
        sourceType: 'module',
        allowAwaitOutsideFunction: true,
      });
    } catch {
      return code;
    }
    const edits = tree.body
      .filter(({ type, kind }) => type === 'VariableDeclaration' && kind === 'const')
      .map(({ start }) => [start, start + 'const'.length, 'let  ']);
    walk.simple(tree, {
      ImportExpression: (node) => edits.push([node.start, node.start + 'import'.length, importer]),
      ImportDeclaration: (node) => edits.push([node.start, node.end, toDynamicImport(node, importer)]),
    });
    for (const [start, end, text] of edits.sort(([a], [b]) => b - a))
      code = code.slice(0, start) + text + code.slice(end);
    return code;
  };
})();

function toDynamicImport({ specifiers, source, attributes }, importer) {
  const options = (attributes ?? []).map(
    ({ key, value }) => `${JSON.stringify(key.name ?? key.value)}: ${value.raw}`,
  );
  const call = `await ${importer}(${source.raw}${options.length > 0 ? `, { with: { ${options.join(', ')} } }` : ''})`;
  const whole = specifiers.find(({ type }) => type === 'ImportNamespaceSpecifier');
  const named = specifiers.filter((each) => each !== whole);
  const names = named.map(({ type, imported, local }) =>
    type === 'ImportDefaultSpecifier'
      ? `default: ${local.name}`
      : `${imported.name ?? imported.raw}: ${local.name}`,
  );
  if (whole !== undefined)
    return `let ${whole.local.name} = ${call};${names.length > 0 ? ` let { ${names.join(', ')} } = ${whole.local.name};` : ''}`;
  return names.length > 0 ? `let { ${names.join(', ')} } = ${call};` : `${call};`;
}

/** As Promise.withResolvers, which not every Node has. */
function makePromise() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

/** Runs something that an interrupt can end while it is busy. */
function guard(run) {
  let result;
  globalThis[runKey] = () => {
    delete globalThis[runKey];
    result = run();
  };
  runGuarded.runInThisContext({ breakOnSigint: true });
  return result;
}

/** The value of the last expression. */
function evaluate(code, name) {
  cell.stopHolding = holdPromise();
  const { promise, resolve, reject } = makePromise();
  const options = { expression: `${code}\n//# sourceURL=${name}`, replMode: true, awaitPromise: true };
  inspector.post('Runtime.evaluate', { ...options, objectGroup: 'cell' }, (error, answer) => {
    if (error) return reject(new Interrupt());
    const { result, exceptionDetails } = answer;
    if (exceptionDetails === undefined) return resolve({ value: toValue(result) });
    reject({ raised: toValue(exceptionDetails.exception), details: exceptionDetails });
  });
  cell.stopHolding();
  return promise;
}

/**
 * Keeps what the inspector waits for. Were it collected as garbage, as `await new Promise(() => {})` would be, the inspector
 * would call its callback from within the collector, and V8 would end the process.
 */
function holdPromise() {
  const held = cell.promises;
  return promiseHooks.onInit((promise) => held.length < 4 && held.push(promise));
}

function toValue(remote) {
  if (remote.objectId === undefined) {
    if (remote.unserializableValue === undefined) return remote.subtype === 'null' ? null : remote.value;
    const text = remote.unserializableValue;
    return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
  }
  let taken;
  globalThis[takeKey] = (value) => void (taken = value);
  const functionDeclaration = `function (value) { globalThis[Symbol.for('workcrate.take')](value); }`;
  const values = { objectId: remote.objectId, arguments: [{ objectId: remote.objectId }] };
  inspector.post('Runtime.callFunctionOn', { functionDeclaration, silent: true, ...values });
  delete globalThis[takeKey];
  return taken;
}

class Interrupt extends Error {}

// Cells.

const interrupted = new WeakSet();
const unfinished = [];
const isMuted = () => interrupted.has(cellOf.getStore() ?? {});

let lastEpoch;
async function runCell({ cell: number, label = number, epoch }, code) {
  const own = { number, label, shown: 0, beyond: 0, failed: false, interrupt: makePromise(), promises: [] };
  own.interrupt.promise.catch(() => {});
  cell = own;
  input = null;
  let status = 'ok';
  try {
    // That of its own start, unless the code has chosen another.
    if (epoch && process.env.SOURCE_DATE_EPOCH === lastEpoch)
      process.env.SOURCE_DATE_EPOCH = lastEpoch = epoch;
    const name = `cell-${label}`;
    const running = cellOf.run(own, () => guard(() => evaluate(rewriteCode(code), name)));
    let { value } = await Promise.race([running, own.interrupt.promise]);
    // A call of an async function at the end is the code, not a value.
    if (value instanceof Promise) value = await Promise.race([value, own.interrupt.promise]);
    if (value !== undefined) cellOf.run(own, () => guard(() => show(value, 'value')));
    // Rejections that nobody handles are told in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    if (own.failed) status = 'error';
  } catch (error) {
    status = isInterrupt(error) ? 'interrupted' : 'error';
    if (status === 'interrupted') {
      interrupted.add(own);
      unfinished.push(own.promises);
    }
    report(error);
  }
  // An interrupt may have kept it from being called.
  own.stopHolding?.();
  inspector.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
  finishCell(status, { ok: 0, error: 1, interrupted: 130 }[status]);
}

const isInterrupt = (error) =>
  error instanceof Interrupt || error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED';

function finishCell(status, code) {
  if (cell.beyond > 0) writeFrame({ type: 'more', cell: cell.number, results: cell.beyond });
  writeFrame({ type: 'done', cell: cell.number, status, code });
  cell = null;
}

function report(error) {
  if (isInterrupt(error)) return writeError('Interrupted');
  const { raised, details } = 'details' in Object(error) ? error : { raised: error };
  writeError(`Uncaught ${cutOwnFrames(toText(raised), details)}`);
}

/** A stack ends where our own functions begin. */
function cutOwnFrames(text, details) {
  const lines = text.split('\n');
  const own = lines.findIndex((line) => /^\s+at .*(?:node:inspector|[( ]workcrate:|node:vm)/.test(line));
  const kept =
    own < 0 ? lines : [...lines.slice(0, own), ...lines.slice(own).filter((line) => !/^\s+at /.test(line))];
  if (text.startsWith('SyntaxError') && details !== undefined)
    kept.splice(
      1,
      0,
      `    at ${details.url || `cell-${cell?.label}`}:${details.lineNumber + 1}:${details.columnNumber + 1}`,
    );
  return kept.join('\n');
}

function writeError(text) {
  writeAll(2, Buffer.from(`${text}\n`));
}

/**
 * An interrupt may end any function half-way: streams of Node would be left with a write that never ends. What an
 * interrupted cell still does by itself later is not to be seen in the cells after it.
 */
for (const [number, stream] of [process.stdout, process.stderr].entries())
  stream.write = (chunk, encoding, callback) => {
    const done = typeof encoding === 'function' ? encoding : callback;
    const data =
      typeof chunk === 'string' ? Buffer.from(chunk, done === encoding ? 'utf8' : encoding) : chunk;
    if (!isMuted()) writeAll(number + 1, data);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };

// The scope of cells.

let input = null;
Object.defineProperty(process, 'stdin', {
  configurable: true,
  enumerable: true,
  get: () => (input ??= new ReadStream(null, { fd: 0, autoClose: false })),
});

const filename = join(folder, 'session.js');
const requireHere = createRequire(filename);

/** Imports as a module in the folder would. The loader gets the name of a file that does not exist. */
let importer = null;
async function importHere(name, options) {
  importer ??= makeImporter(pathToFileURL(join(folder, 'session.mjs')).href);
  return (await importer)(name, options);
}

async function makeImporter(url) {
  const source = 'export default (name, options) => import(name, options);';
  const hooks = registerHooks({
    resolve: (name, context, next) =>
      name === url ? { url, format: 'module', shortCircuit: true } : next(name, context),
    load: (at, context, next) =>
      at === url ? { source, format: 'module', shortCircuit: true } : next(at, context),
  });
  try {
    return (await import(url)).default;
  } finally {
    hooks.deregister();
  }
}

Object.defineProperty(globalThis, importKey, { value: importHere });
for (const [name, value] of Object.entries({
  require: requireHere,
  module: { exports: {} },
  exports: {},
  __filename: filename,
  __dirname: folder,
  display: (...values) => values.forEach((value) => show(value, 'display')),
}))
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

process.on('SIGINT', () => cell?.interrupt.reject(new Interrupt()));
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error) => {
    if (isMuted()) return;
    if (cell !== null) cell.failed = true;
    report(error);
  });
process.on('exit', (code) => {
  if (cell !== null) finishCell('exit', code);
});

// The router.

let read = Buffer.alloc(0);
let work = Promise.resolve();
const socket = new Socket({ fd: connection, readable: true, writable: false });
socket.on('data', (chunk) => {
  read = Buffer.concat([read, chunk]);
  while (read.length >= 8) {
    const start = 8 + read.readUInt32BE(0);
    const end = start + read.readUInt32BE(4);
    if (read.length < end) break;
    const header = JSON.parse(read.subarray(8, start).toString());
    const code = read.subarray(start, end).toString();
    read = read.subarray(end);
    if ('interrupt' in header) cell?.interrupt.reject(new Interrupt());
    else work = work.then(() => ('close' in header ? process.exit(0) : runCell(header, code)));
  }
});
socket.on('end', () => process.exit(0));
// Code has closed the descriptor: the router sees that, and ends this process.
socket.on('error', () => {});
writeFrame({ type: 'ready', pid: process.pid });
