/**
 * What the page costs: its first page, how soon a printed line is seen, a list of 10,000 runs, and what 100 open pages
 * with live output take of the server: `node bench/page.ts`. The server is the real program, the browser is Chromium.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { noBrowser, openBrowser, type OpenBrowser } from '../test/behaviour/pages/browser.testing.ts';
import { startProgram, temporaryFolder, type Program } from './program.ts';
import { median, timed } from './timed.ts';
import { reportFigure, toRatios, toRounds } from './figures.ts';

const manyRuns = 10_000;
const openPages = 100;
/** As a browser opens a page. */
const navigation = { accept: 'text/html', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };

if (noBrowser !== false) {
  console.log(`  left out: ${noBrowser}`);
  process.exit();
}
using folder = temporaryFolder();
await fillWithRuns(folder.path);
await using program = await startProgram({ data: folder.path });
const load = (): string => loadavg()[0]!.toFixed(1);
console.log(`  load of the machine at the start ${load()}`);
{
  await using browser = await openBrowser();
  await measureFirstPage(browser, program);
  await measureList(browser, program);
  await measureLine(browser, program);
}
await measureOpenPages(program);
console.log(`  load of the machine at the end ${load()}`);

function report(what: string, value: string, asked: string | null = null, isHeld = true): void {
  const verdict = asked === null ? '' : `asked: ${asked}${isHeld ? '' : ', NOT held'}`;
  console.log(`  ${what.padEnd(44)} ${value.padEnd(24)} ${verdict}`);
  if (!isHeld) process.exitCode = 1;
}

/** One real run, and its row under many ids, a second apart: so many real runs would take an hour. */
async function fillWithRuns(data: string): Promise<void> {
  {
    await using once = await startProgram({ data });
    await once.call('execute_code', { language: 'python', code: 'print("hello")' });
  }
  const database = new DatabaseSync(join(data, 'workcrate.db'));
  const row = database.prepare('SELECT * FROM executions').get() as Record<string, string | number>;
  const names = Object.keys(row);
  const insert = database.prepare(
    `INSERT INTO executions (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
  );
  database.exec('BEGIN');
  for (let at = 1; at < manyRuns; at++) {
    const id = String(row['id']).replace(/[0-9a-f]+$/, (digits) =>
      randomBytes(digits.length).toString('hex').slice(0, digits.length),
    );
    const changed = { ...row, id, started_at: Number(row['started_at']) - at * 1000 };
    insert.run(...names.map((name) => changed[name as keyof typeof changed] ?? null));
  }
  database.exec('COMMIT');
  database.close();
}

interface Shown {
  readonly bytes: number;
  readonly nodes: number;
  readonly serverMs: number;
  readonly loadMs: number;
}

/** One page as Chromium shows it, in a context of its own: nothing is cached. */
async function show(browser: OpenBrowser, url: string): Promise<Shown> {
  const { page } = await browser.open();
  await page.goto(url, { waitUntil: 'load' });
  await pause(50);
  const shown = await page.evaluate<Shown>(`(() => {
    const { encodedBodySize, responseEnd, loadEventEnd } = performance.getEntriesByType('navigation')[0];
    const others = performance.getEntriesByType('resource').reduce((sum, one) => sum + one.encodedBodySize, 0);
    return { bytes: encodedBodySize + others, nodes: document.querySelectorAll('*').length,
      serverMs: responseEnd, loadMs: loadEventEnd };
  })()`);
  await page.context().close();
  return shown;
}

async function showOften(browser: OpenBrowser, url: string): Promise<Shown> {
  const all: Shown[] = [];
  for (let round = 0; round < 15; round++) all.push(await show(browser, url));
  const mid = (pick: (shown: Shown) => number): number => median(all.map(pick));
  const [bytes, nodes] = [mid((shown) => shown.bytes), mid((shown) => shown.nodes)];
  return { bytes, nodes, serverMs: mid((shown) => shown.serverMs), loadMs: mid((shown) => shown.loadMs) };
}

async function measureFirstPage(browser: OpenBrowser, { url }: Program): Promise<void> {
  const { bytes, loadMs, serverMs } = await showOften(browser, `${url}/`);
  report('first page, all that is loaded', `${(bytes / 1000).toFixed(1)} KB`, '≤ 100 KB', bytes <= 100_000);
  report('first page, until it is loaded', `${loadMs.toFixed(0)} ms`, '≤ 150 ms', loadMs <= 150);
  report('  of which until its last byte', `${serverMs.toFixed(0)} ms`);
}

/** The link to the older runs, 99 times. */
async function measureList(browser: OpenBrowser, { url }: Program): Promise<void> {
  let address = `${url}/`;
  for (let at = 1; at < 100; at++) {
    const next = /rel="next" href="([^"]+)"/.exec(await readPage(address))?.[1];
    if (next === undefined) throw new Error(`there are only ${at} pages`);
    address = new URL(next.replaceAll('&amp;', '&'), address).href;
  }
  const [first, last] = [await showOften(browser, `${url}/`), await showOften(browser, address)];
  for (const [name, { bytes, nodes, loadMs }] of Object.entries({ 'page 1': first, 'page 100': last }))
    report(
      `${name} of ${manyRuns} runs`,
      `${(bytes / 1000).toFixed(1)} KB, ${nodes} nodes, ${loadMs.toFixed(0)} ms`,
    );
  const growth = Math.max(last.bytes / first.bytes, last.nodes / first.nodes);
  report('page 100 to page 1, bytes and nodes', growth.toFixed(2), 'no growth', growth <= 1.05);
}

async function ask(url: string, headers: Record<string, string>): Promise<IncomingMessage> {
  const [answer] = (await once(request(url, { headers, agent: false }).end(), 'response')) as [
    IncomingMessage,
  ];
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`);
  return answer;
}

async function readPage(url: string): Promise<string> {
  return Buffer.concat(await (await ask(url, navigation)).toArray()).toString();
}

/** Each line says when it was printed, and the browser when it was about to be painted. */
async function measureLine(browser: OpenBrowser, server: Program): Promise<void> {
  const lines = 20;
  const code = `import time
time.sleep(4)
for _ in range(${lines}):
    print(f"T={time.time_ns() // 1000000};", flush=True)
    time.sleep(0.5)
time.sleep(10)`;
  const { data } = await server.call('execute_code', { language: 'python', code, background: true });
  const { page } = await browser.open();
  await page.goto(`${server.url}/runs/${data['execution_id']}`);
  await page.evaluate(`(() => {
    const shown = document.querySelector('[data-run]');
    window.late = new Map();
    const look = () => requestAnimationFrame(() => {
      for (const [line, time] of shown.textContent.matchAll(/T=(\\d+);/g))
        if (!late.has(line)) late.set(line, Date.now() - Number(time));
    });
    new MutationObserver(look).observe(shown, { childList: true, characterData: true, subtree: true });
  })()`);
  let late: number[] = [];
  for (let look = 0; look < 120 && late.length < lines; look++) {
    await pause(500);
    late = await page.evaluate<number[]>('[...late.values()]');
  }
  if (late.length < lines) throw new Error(`only ${late.length} lines were seen`);
  const [middle, most] = [median(late), Math.max(...late)];
  reportFigure('page: a printed line is seen after, ms', toRounds(late));
  report('a printed line is seen after', `${middle} ms, at most ${most} ms`, '≤ 300 ms', middle <= 300);
  await page.context().close();
  await server.call('cancel_execution', { execution_id: data['execution_id']! });
}

/** What the process holds just now: the least of some looks, since garbage comes and goes. */
async function readMegabytes({ pid }: Program): Promise<number> {
  const looks: number[] = [];
  for (let look = 0; look < 10; look++) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    looks.push(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024);
    await pause(300);
  }
  return Math.min(...looks);
}

/** Pages of a run with their events, as 100 browsers have them open. */
async function openLivePages(server: Program, id: string): Promise<Disposable> {
  const answers: IncomingMessage[] = [];
  for (let at = 0; at < openPages; at++) {
    await readPage(`${server.url}/runs/${id}`);
    const answer = await ask(`${server.url}/runs/${id}/live?from=0`, { accept: 'text/event-stream' });
    answer.on('error', () => {}).resume();
    answers.push(answer);
  }
  return { [Symbol.dispose]: () => answers.forEach((answer) => answer.destroy()) };
}

function reportMemory(which: string, before: number, during: number): void {
  const more = during - before;
  report(
    `${which} ${openPages} open pages, memory`,
    `${before.toFixed(0)} MB, ${more.toFixed(0)} MB more`,
    '≤ 50 MB',
    more <= 50,
  );
}

async function measureOpenPages(server: Program): Promise<void> {
  const loop = 'while true; do echo "a line of some length, now $SECONDS"; sleep 0.5; done';
  const input = { language: 'bash', code: loop, background: true, timeout_ms: 600_000 };
  const id = (await server.call('execute_code', input)).data['execution_id']!;
  const call = async (): Promise<void> =>
    void (await server.call('execute_code', { language: 'python', code: 'print("hi")' }));
  await timed(call, 30);
  const before = await readMegabytes(server);
  {
    using _open = await openLivePages(server, id);
    await pause(20_000);
    reportMemory('the first', before, await readMegabytes(server));
  }
  // Node keeps what it has once taken, so the second 100 show whether anything grows.
  const after = await readMegabytes(server);
  const taken: Record<'with' | 'without', number[]> = { with: [], without: [] };
  for (let round = 0; round < 6; round++) {
    taken.without.push(...(await timed(call, 20)));
    using _open = await openLivePages(server, id);
    taken.with.push(...(await timed(call, 20)));
    if (round === 5) reportMemory('the next', after, await readMegabytes(server));
  }
  const [without, withThem] = [median(taken.without), median(taken.with)];
  const ratio = withThem / without;
  reportFigure(
    `page: execute_code beside ${openPages} open pages × without`,
    toRatios(taken.with, taken.without),
  );
  report(
    `execute_code beside ${openPages} open pages`,
    `${without.toFixed(1)} ms, ${withThem.toFixed(1)} ms: ${ratio.toFixed(2)}`,
    '≤ 1.10',
    ratio <= 1.1,
  );
  await server.call('cancel_execution', { execution_id: id });
}
