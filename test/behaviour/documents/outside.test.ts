import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { findConfinement } from '../../../src/features/documents/confinement.ts';
import { packArchive, unpackArchive } from '../../../src/features/documents/formats/archive.ts';
import { documentFormats } from '../../../src/features/documents/documents.ts';
import { openEars, type Ears } from '../../properties/attacks/ears.testing.ts';
import { fromSource } from '../cli/program.testing.ts';
import { nastyBibliography, nastyDocument, nastyReference, nastyStyle } from './nasty.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const dot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const bubblewrap = '/usr/bin/bwrap';
const noWalls =
  (await findConfinement({ readable: [] })) === null && 'bubblewrap does not work on this machine';
const noTrace = !canTrace() && 'strace does not work on this machine';

function canTrace(): boolean {
  try {
    execFileSync('strace', ['-f', '-qq', '-o', '/dev/null', 'true'], { timeout: 10_000, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Where a bubblewrap hides itself from those within it, they have to do without. */
const ways = {
  'with walls': { skip: noWalls || noTrace, wrapper: [] },
  'without walls': {
    skip: noWalls || noTrace,
    wrapper: [bubblewrap, '--dev-bind', '/', '/', '--ro-bind', '/dev/null', bubblewrap, '--'],
  },
} as const;

describe('a document that names a file and an address wherever it can', () => {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-nasty-'));
  const secret = randomUUID();
  const bait = join(folder, 'elsewhere', `bait-${randomUUID()}`);
  let ears: Ears;
  const sums = new Map<string, Record<string, string>>();
  before(async () => {
    for (const name of ['elsewhere', 'own']) mkdirSync(join(folder, name));
    writeFileSync(bait, secret);
    ears = await openEars(folder, randomUUID());
    const baits = { file: bait, url: `http://127.0.0.1:${ears.tcp}/bait` };
    const parts = Object.entries(nastyReference(baits));
    const given = {
      'nasty.md': nastyDocument(baits),
      'nasty.bib': nastyBibliography(baits),
      'nasty.csl': nastyStyle(baits),
      'nasty.docx': packArchive(parts.map(([name, text]) => ({ name, bytes: Buffer.from(text) }))),
      'dot.png': dot,
    };
    for (const [name, bytes] of Object.entries(given)) writeFileSync(join(folder, 'own', name), bytes);
  });
  after(async () => {
    await ears?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const [name, { skip, wrapper }] of Object.entries(ways))
    it(
      `is built into every format ${name}, and nothing looks at the file or opens a connection`,
      { skip },
      async () => {
        const out = join(folder, name.replaceAll(' ', '-'));
        const trace = await traced(wrapper, out);
        assert.ok(trace.includes('pandoc.wasm'), 'what is done is seen');
        assert.equal(trace.includes('--unshare-all'), wrapper.length === 0, 'walls are there, or not');
        assert.deepEqual(
          trace.split('\n').filter((line) => line.includes(bait)),
          [],
        );
        assert.deepEqual(
          trace.split('\n').filter((line) => line.includes('AF_INET')),
          [],
        );
        assert.deepEqual(ears.heard(), []);
        const made = readdirSync(out);
        assert.ok(made.length > 5, made.join());
        demandWords(readFileSync(join(out, 'nasty.txt'), 'utf8'));
        for (const file of made) await demandWithout(join(out, file), secret);
        sums.set(name, Object.fromEntries(made.map((file) => [file, sumOf(join(out, file))])));
        recordProof('C12:reads-no-file-of-the-server', 'C12:fetches-no-url', 'C12:runs-no-filter');
      },
    );

  it('two builds at a fixed moment give the same bytes in every format', { skip: noWalls || noTrace }, () => {
    const [first, second] = [...sums.values()];
    assert.deepEqual(first, second);
  });

  it('every format has a file of its own', { skip: noWalls || noTrace }, () => {
    for (const format of ['pdf', 'docx', 'html', 'odt', 'epub', 'latex', 'typst', 'pptx'])
      assert.ok((documentFormats as readonly string[]).includes(format), format);
    for (const files of sums.values())
      assert.equal(Object.keys(files).length, documentFormats.length, Object.keys(files).join());
    recordProof('C11:every-format');
  });

  /** What was meant as code stands there as it was written. */
  function demandWords(text: string): void {
    const words = text.replaceAll(/\s+/g, ' ');
    for (const [before, behind] of shown) assert.ok(words.includes(`${before}${bait}${behind}`), before);
  }

  /** All calls that name files or open connections, of all processes. */
  async function traced(wrapper: readonly string[], out: string): Promise<string> {
    const log = `${out}.trace`;
    const own = (file: string): string => join(folder, 'own', file);
    const strace = [
      '-f',
      '--seccomp-bpf',
      '-qq',
      '-s',
      '300',
      '-e',
      'trace=%file,socket,connect',
      '-o',
      log,
      '--',
    ];
    const words = ['build', own('nasty.md'), '--to', documentFormats.join(','), '--output', out];
    const given = [
      '--bibliography',
      own('nasty.bib'),
      '--csl',
      own('nasty.csl'),
      '--reference-doc',
      own('nasty.docx'),
    ];
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent', SOURCE_DATE_EPOCH: '1000000000' };
    const bounds = { timeout: 300_000, killSignal: 'SIGKILL', cwd: folder, env } as const;
    const { stderr } = await promisify(execFile)(
      'strace',
      [...strace, ...wrapper, ...fromSource, ...words, ...given],
      bounds,
    );
    assert.match(stderr, /LaTeX was kept as text/);
    assert.ok(existsSync(log));
    return readFileSync(log, 'latin1');
  }
});

/** What stands before and behind the name of the file. */
const shown: readonly (readonly [before: string, behind: string])[] = [
  ['!include ', ''],
  ['{{< include ', ' >}}'],
  ['.. include:: ', ''],
  ['#+INCLUDE: “', '”'],
  ['\\input{', '}'],
  ['\\lstinputlisting{', '}'],
  ['#read(“', '”)'],
];

const sumOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** In a file, or in what is packed in it. */
async function demandWithout(file: string, secret: string): Promise<void> {
  const bytes = readFileSync(file);
  assert.equal(bytes.includes(secret), false, file);
  if (bytes.toString('latin1', 0, 2) !== 'PK') return;
  for (const part of await unpackArchive(bytes, AbortSignal.timeout(10_000)))
    assert.equal(Buffer.from(part.bytes).includes(secret), false, `${file}: ${part.name}`);
}
