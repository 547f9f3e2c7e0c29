/**
 * Markdown with 100 references to PDF, in CPU seconds of all processes together: cold, when nothing has been built yet,
 * and warm; against Debian's pandoc with weasyprint and with chromium, where they are installed. Then memory: before,
 * while documents are built, and after the processes have ended for being idle; and what the packages take on disk.
 *
 *   node bench/documents.ts [ROUNDS]
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { loadConfig } from '../src/server/settings.ts';
import type { DocumentFormat } from '../src/features/documents/documents.ts';
import { createLog } from '../src/platform/observability/log.ts';
import { openDocuments } from '../src/features/documents/open.ts';
import { bibliography, manuscript } from './documents-text.ts';
import { temporaryFolder } from './program.ts';
import { median } from './timed.ts';

const roundsOf = { '13 pages': Number(process.argv[2] ?? 5), '165 pages': 1 };
const idleSeconds = 2;
const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const sizes = { '13 pages': 7, '165 pages': 108 };
/** V8 makes the code of a WebAssembly module fast bit by bit, as it is used. */
const warmUps = { '13 pages': 8, '165 pages': 1 };
/** How often ours and the others are compared in a round, in turn: a busy machine favours now one and now the other. */
const compared = { '13 pages': 1, '165 pages': 5 };

using folder = temporaryFolder();
// As `bin/start.js` does for a server.
enableCompileCache(join(tmpdir(), 'workcrate-bench-compiled'));
for (const name of ['13 pages', '165 pages'] as const) await compare(name, sizes[name]);
await memory();
diskSpace();

async function compare(name: keyof typeof sizes, sections: number): Promise<void> {
  const text = manuscript(sections);
  const times: Record<string, number[]> = {};
  const note = (way: string, seconds: number): void => void (times[way] ??= []).push(seconds);
  const rounds = roundsOf[name];
  let pages = 0;
  for (let round = 0; round < rounds; round++) {
    await using desk = open();
    note(
      'workcrate, cold',
      await cpuOf(async () => void (pages = await build(desk.documents, text, ['pdf']))),
    );
    for (let before = 0; before < warmUps[name]; before++)
      await build(desk.documents, text, ['pdf', 'docx', 'html']);
    const other = `${bibliography}\n% ${round}`;
    note(
      'workcrate, warm, another bibliography',
      await cpuOf(() => build(desk.documents, text, ['pdf'], other)),
    );
    const cited = text.replaceAll('p. 3]', `p. ${round + 4}]`);
    note('workcrate, warm, other citations', await cpuOf(() => build(desk.documents, cited, ['pdf'])));
    note('workcrate, warm, docx', await cpuOf(() => build(desk.documents, text, ['docx'])));
    note(
      'workcrate, warm, pdf, docx and html',
      await cpuOf(() => build(desk.documents, text, ['pdf', 'docx', 'html'])),
    );
    for (let again = 0; again < compared[name]; again++) {
      note('workcrate, warm', await cpuOf(() => build(desk.documents, text, ['pdf'])));
      for (const way of others(text)) note(way.name, await cpuOf(async () => way.run()));
    }
  }
  const ours = median(times['workcrate, warm']!);
  console.log(`\n${name} (${pages} in PDF), 100 references, ${rounds} rounds`);
  console.table(
    Object.fromEntries(
      Object.entries(times).map(([way, seconds]) => [
        way,
        {
          'CPU seconds': median(seconds).toFixed(2),
          'to workcrate, warm': (median(seconds) / ours).toFixed(2),
        },
      ]),
    ),
  );
  if (sections === sizes['13 pages']) console.log('asked: at most 0.6 warm, 2.5 cold');
}

function open() {
  const { config } = loadConfig({ data: folder.path, 'document-idle': String(idleSeconds) }, {});
  const documents = openDocuments({ config, library: () => null, log: createLog('error') });
  return { documents, [Symbol.asyncDispose]: () => documents[Symbol.asyncDispose]() };
}

/** Gives the number of pages, where there are any. */
async function build(
  documents: ReturnType<typeof open>['documents'],
  text: string,
  formats: DocumentFormat[],
  references = bibliography,
) {
  const result = await documents.build(
    { user: 'local' },
    {
      text,
      formats,
      layout: {},
      bibliography: { text: references, format: 'bibtex' },
      style: { name: 'apa', content: null },
      cites: true,
      referenceDoc: null,
    },
    {
      signal: new AbortController().signal,
      pictures: { artifact: async () => null, file: async () => null },
      progress: () => {},
    },
  );
  if (result.failures.length > 0) throw new Error(result.failures[0]!.message);
  const pdf = result.built.find(({ format }) => format === 'pdf');
  return pdf === undefined ? 0 : pagesOf(pdf.written.bytes);
}

function pagesOf(bytes: Uint8Array): number {
  const path = join(folder.path, 'ours.pdf');
  writeFileSync(path, bytes);
  const told = spawnSync('pdfinfo', [path], { encoding: 'utf8' }).stdout ?? '';
  return Number(/^Pages:\s*(\d+)/m.exec(told)?.[1] ?? 0);
}

interface Way {
  readonly name: string;
  run(): void;
}

function others(text: string): Way[] {
  if (!isThere('pandoc')) return [];
  const path = (name: string): string => join(folder.path, name);
  writeFileSync(path('text.md'), text);
  writeFileSync(path('refs.bib'), bibliography);
  const html = (): void =>
    run('pandoc', [
      '--standalone',
      '--citeproc',
      '--mathml',
      '--bibliography',
      path('refs.bib'),
      '-o',
      path('text.html'),
      path('text.md'),
    ]);
  const print = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const profile = `--user-data-dir=${path('profile')}`;
  return [
    { name: 'pandoc and weasyprint', command: 'weasyprint', args: [path('text.html'), path('other.pdf')] },
    {
      name: 'pandoc and chromium',
      command: 'chromium',
      args: [
        ...print,
        ...quiet,
        profile,
        `--print-to-pdf=${path('other.pdf')}`,
        `file://${path('text.html')}`,
      ],
    },
  ]
    .filter(({ command }) => isThere(command))
    .map(({ name, command, args }) => ({
      name,
      run() {
        html();
        run(command, args);
      },
    }));
}

function isThere(command: string): boolean {
  return spawnSync(command, ['--version']).status === 0;
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 120_000 });
  if (status !== 0) throw new Error(`${command}: ${stderr}`);
}

/** CPU seconds of this process and all below it while something is done. */
async function cpuOf(act: () => Promise<unknown>): Promise<number> {
  const before = ticksOfTree();
  await act();
  return (ticksOfTree() - before) / ticksPerSecond;
}

interface Seen {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

function ticksOfTree(): number {
  return treeOf(process.pid).reduce((sum, { ticks }) => sum + ticks, 0);
}

/** This process and all below it, whatever stands between. */
function treeOf(root: number): Seen[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(seen);
  const below = new Set([root]);
  for (let size = 0; size !== below.size;) {
    size = below.size;
    for (const { pid, parent } of all) if (below.has(parent)) below.add(pid);
  }
  return all.filter(({ pid }) => below.has(pid));
}

function seen(pid: string): Seen[] {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    // Its own time, and that of children that have ended.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return [{ pid: Number(pid), parent: Number(fields[1]), ticks }];
  } catch {
    return [];
  }
}

async function memory(): Promise<void> {
  const megabytes = (): number =>
    treeOf(process.pid).reduce((sum, { pid }) => sum + residentOf(pid), 0) / 1024;
  await using desk = open();
  const before = megabytes();
  let peak = 0;
  const look = setInterval(() => void (peak = Math.max(peak, megabytes())), 20);
  for (let round = 0; round < 3; round++)
    await build(desk.documents, manuscript(sizes['165 pages']), ['pdf', 'docx']);
  clearInterval(look);
  const between = megabytes();
  await pause(idleSeconds * 1000 + 2000);
  console.log('\nmemory of all processes, 165 pages as PDF and DOCX three times');
  console.table({ before, peak, 'right after': between, 'after being idle': megabytes() });
}

function residentOf(pid: number): number {
  try {
    return Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function diskSpace(): void {
  const modules = join(import.meta.dirname, '..', 'node_modules');
  const packages = ['pandoc-wasm', '@bjorn3/browser_wasi_shim', '@myriaddreamin', '@resvg'];
  const told = execFileSync('du', ['-cms', ...packages.map((name) => join(modules, name))], {
    encoding: 'utf8',
  });
  console.log(`\npackages on disk: ${told.trim().split('\n').at(-1)!.split('\t')[0]} MB; asked: at most 110`);
  rmSync(join(folder.path, 'profile'), { recursive: true, force: true });
}
