import assert from 'node:assert/strict';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it, type TestContext } from 'node:test';
import { WorkcrateError } from '../../../platform/errors.ts';
import { eventually } from '../../../platform/eventually.testing.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { createHelperProcess } from '../../../platform/workers/workers.ts';
import { findConfinement } from '../confinement.ts';
import type { TypstCompilerOptions } from './compiler.ts';
import type { TypstMethods } from './typst-process.ts';
import { findTypstPackage, offlineEnvironment, openTypst, type TypstJob } from './typst.ts';

const options = {
  fontFolders: [],
  processes: 1,
  idleSeconds: 60,
  memoryBytes: 1_000_000_000,
  epoch: 0,
  log: createLog('off'),
};

const typst = openTypst(options);
after(() => typst[Symbol.asyncDispose]());

const job = (source: string): TypstJob => ({ source, files: {}, pdfA: false, findMissing: false });
const unhurried = new AbortController().signal;

/** Takes hours, and hears nothing meanwhile. */
const endless = '#for a in range(9000) { for b in range(9000) { for c in range(9000) {} } }';

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-typst-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

it('documents are set one after the other by one process', async () => {
  const wanted = ['One', 'Two #pagebreak() pages'].map((source) => typst.compile(job(source), unhurried));
  assert.deepEqual(
    (await Promise.all(wanted)).map(({ pages }) => pages),
    [1, 2],
  );
});

it('what takes too long is killed with the reason of the signal, and the next document works', async () => {
  const stop = new AbortController();
  const reason = new WorkcrateError('document_timeout', 'It took too long.');
  const compiling = typst.compile(job(endless), stop.signal);
  setTimeout(() => stop.abort(reason), 300);
  await assert.rejects(compiling, reason);
  assert.equal((await typst.compile(job('On it goes'), unhurried)).pages, 1);
});

it('what was called off before is not begun', async () => {
  const reason = new WorkcrateError('cancelled', 'It was called off.');
  await assert.rejects(typst.compile(job('x'), AbortSignal.abort(reason)), reason);
});

it('what takes more memory than it may fails alone, and the next document works', async (t) => {
  const small = openTypst({ ...options, memoryBytes: 250_000_000 });
  t.after(() => small[Symbol.asyncDispose]());
  const greedy =
    '#{ let a = range(100000); for _ in range(9) { a = a + a }; for i in range(9000) { for j in range(9000) { for k in range(9000) {} } } }';
  const signal = AbortSignal.timeout(120_000);
  await assert.rejects(small.compile(job(greedy), signal), { code: 'document_failed', message: /memory/ });
  assert.equal((await small.compile(job('On it goes'), unhurried)).pages, 1);
});

it('one that was never asked closes, and sets nothing any more', async () => {
  const closed = openTypst(options);
  await closed[Symbol.asyncDispose]();
  await assert.rejects(closed.compile(job('x'), unhurried), { code: 'stopping' });
});

it('it is confined where bubblewrap works, and a package of the network cannot be had', async (t) => {
  await assert.rejects(typst.compile(job('#import "@preview/cetz:0.3.0"'), unhurried), {
    code: 'document_failed',
  });
  if ((await findConfinement({ readable: [] })) === null)
    return t.skip('bubblewrap does not work on this machine');
  const lines = processes().map(({ line }) => line.includes('--unshare-all'));
  assert.deepEqual(lines, [true]);
});

/** The processes that this one has started for Typst. */
function processes(): { readonly pid: number; readonly line: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && textOf(`${name}/status`).includes(`\nPPid:\t${process.pid}\n`))
    .map((name) => ({ pid: Number(name), line: textOf(`${name}/cmdline`) }))
    .filter(({ line }) => line.includes('typst-process'));
}

function textOf(name: string): string {
  try {
    return readFileSync(`/proc/${name}`, 'utf8');
  } catch {
    return '';
  }
}

const strace = '/usr/bin/strace';
const skip = !existsSync(strace) && 'strace is not installed';

it('without walls, too, it opens no connection and looks up no name', { skip }, async (t) => {
  const trace = join(newFolder(t), 'trace');
  const data: TypstCompilerOptions = { url: findTypstPackage().url, fonts: [], epoch: 0 };
  const file = new URL('./typst-process.ts', import.meta.url);
  const wrapper = { command: strace, args: ['-f', '-o', trace, '-e', 'trace=connect,sendto,sendmmsg'] };
  await using bare = createHelperProcess<TypstMethods>(file, data, options.log, {
    env: offlineEnvironment,
    wrapper,
  });
  await assert.rejects(bare.call('compile', job('#import "@preview/cetz:0.3.0"')), {
    code: 'document_failed',
  });
  const network = readFileSync(trace, 'utf8')
    .split('\n')
    .filter((line) => /AF_INET/.test(line));
  assert.ok(network.length > 0);
  for (const line of network) assert.match(line, /sin_port=htons\(0\), sin_addr=inet_addr\("127\.0\.0\.1"\)/);
});

it('a folder of fonts that cannot be read is told at the start', (t) => {
  const fontFolders = [join(newFolder(t), 'none')];
  assert.throws(() => openTypst({ ...options, fontFolders }), {
    code: 'config_invalid',
    message: /--document-fonts/,
  });
});

it('what is in a folder of fonts and is none is left out, with a line in the log', (t) => {
  const folder = newFolder(t);
  writeFileSync(join(folder, 'a.ttf'), 'not a font');
  writeFileSync(join(folder, 'readme.txt'), 'not a font either');
  symlinkSync('a.ttf', join(folder, 'b.ttf'));
  const lines: string[] = [];
  const log = createLog('info', (line) => lines.push(line));
  const { families } = openTypst({ ...options, log, fontFolders: [folder] });
  assert.deepEqual([families.length, lines.length], [4, 1]);
  assert.match(lines[0]!, /font_left_out/);
});

it('one that dies at work fails its document, and the next one works', async () => {
  const compiling = typst.compile(job(endless), AbortSignal.timeout(120_000));
  const failed = assert.rejects(compiling, { code: 'document_failed', message: /failed on this document/ });
  await eventually(() => processes().length > 0);
  for (const { pid } of processes()) process.kill(pid, 'SIGKILL');
  await failed;
  assert.equal((await typst.compile(job('On it goes'), unhurried)).pages, 1);
});

it('idle processes end', async (t) => {
  const hasty = openTypst({ ...options, idleSeconds: 0 });
  t.after(() => hasty[Symbol.asyncDispose]());
  const before = processes().length;
  await hasty.compile(job('x'), unhurried);
  await eventually(() => processes().length <= before);
  assert.equal(processes().length, before);
});

/** It has letters for Berber, which none of the fonts of the compiler has. */
const berber = '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf';

it(
  'fonts in a folder are used for what the others lack',
  { skip: !existsSync(berber) && `there is no ${berber}` },
  async (t) => {
    const folder = newFolder(t);
    symlinkSync(berber, join(folder, 'sans.ttf'));
    await using wider = openTypst({ ...options, fontFolders: [folder] });
    assert.ok(wider.families.includes('DejaVu Sans'));
    const wanted = (families: readonly string[]): TypstJob => ({
      ...job(`#set text(font: (${families.map((name) => `"${name}"`).join(', ')}), fallback: false)\nⴰⵣⵓⵍ`),
      findMissing: true,
    });
    assert.deepEqual((await wider.compile(wanted(wider.families), unhurried)).missing, []);
    assert.deepEqual((await typst.compile(wanted(typst.families), unhurried)).missing, ['ⴰ', 'ⵣ', 'ⵓ', 'ⵍ']);
  },
);
