/**
 * What the proxy of sandboxes adds to a request, and what it leaves of the throughput, against a direct connection in
 * the same run; client, proxy and server are processes of their own, on loopback: `node bench/egress.ts [MEGABYTES]`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { temporaryFolder } from './program.ts';
import { median, timed } from './timed.ts';

const megabytes = Number(process.argv[2] ?? 512);
const [rounds, requestsEach] = [30, 50];

using folder = temporaryFolder();
const outside = await startPeer('outside', join(folder.path, 'outside'));
const proxy = await startPeer(
  'proxy',
  outside.ready.plain,
  outside.ready.tls,
  join(folder.path, 'proxy'),
  outside.ready.certificate,
);

interface Way {
  readonly name: string;
  /** A connection over which requests to the host can be sent. */
  open(): Promise<Duplex>;
  /** Before the path of a request. */
  readonly base: string;
}

const plain: Way[] = [
  { name: 'plain HTTP', base: '', open: () => dial(outside.ready.plain) },
  { name: 'plain HTTP, proxy', base: 'http://bench.example', open: () => dial(proxy.ready.pass) },
];
const secure: Way[] = [
  {
    name: 'TLS',
    base: '',
    open: async () => shake(await dial(outside.ready.tls), outside.ready.certificate),
  },
  {
    name: 'TLS, tunnel',
    base: '',
    open: async () => shake(await dialTunnel(proxy.ready.pass), outside.ready.certificate),
  },
  {
    name: 'TLS, ended by the proxy',
    base: '',
    open: async () => shake(await dialTunnel(proxy.ready.intercept), proxy.ready.certificate),
  },
];

const table: Record<string, string>[] = [];
for (const ways of [plain, secure]) {
  await compare('a request, connection kept', ways, 'ms', measureKept);
  await compare('a request, new connection', ways, 'ms', measureNew);
  await compare(`download of ${megabytes} MB`, ways, 'MB/s', (way) => measureThroughput(way, download));
  await compare(`upload of ${megabytes} MB`, ways, 'MB/s', (way) => measureThroughput(way, upload));
}
console.table(table);
await measureBusyTunnel();
for (const peer of [outside, proxy]) peer.end();

/** In turns; the first round only warms up. */
async function compare(
  what: string,
  ways: readonly Way[],
  unit: 'ms' | 'MB/s',
  measure: (way: Way) => Promise<number[]>,
): Promise<void> {
  const seen = new Map(ways.map((way) => [way, [] as number[]]));
  const times = unit === 'ms' ? rounds : 5;
  for (let round = -1; round < times; round++)
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
      const taken = await measure(way);
      if (round >= 0) seen.get(way)!.push(...taken);
    }
  const base = median(seen.get(ways[0]!)!);
  for (const [way, values] of seen) {
    const value = median(values);
    const isBase = way === ways[0];
    table.push({
      case: what,
      way: way.name,
      p50: `${value.toFixed(unit === 'ms' ? 3 : 0)} ${unit}`,
      compared: isBase
        ? ''
        : unit === 'ms'
          ? `+ ${(value - base).toFixed(3)} ms`
          : `${(value / base).toFixed(2)} ×`,
      asked: isBase ? '' : unit === 'ms' ? '≤ + 1 ms' : '≥ 0.5 ×',
    });
  }
}

async function measureKept(way: Way): Promise<number[]> {
  const stream = await way.open();
  const taken = await timed(() => ask(stream, way), requestsEach);
  stream.destroy();
  // The first one has the connection outside still to be made.
  return taken.slice(1);
}

function measureNew(way: Way): Promise<number[]> {
  return timed(async () => {
    const stream = await way.open();
    await ask(stream, way);
    stream.destroy();
  }, 10);
}

async function ask(stream: Duplex, { base }: Way): Promise<void> {
  stream.write(`GET ${base}/0 HTTP/1.1\r\nHost: bench.example\r\n\r\n`);
  await once(stream, 'data');
}

async function measureThroughput(
  way: Way,
  move: (stream: Duplex, way: Way) => Promise<void>,
): Promise<number[]> {
  const stream = await way.open();
  const began = performance.now();
  await move(stream, way);
  const seconds = (performance.now() - began) / 1000;
  stream.destroy();
  return [megabytes / seconds];
}

async function download(stream: Duplex, { base }: Way): Promise<void> {
  let left = megabytes * 1024 * 1024;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left <= 0) resolve();
  });
  stream.once('close', () => reject(new Error('it broke off')));
  stream.write(`GET ${base}/${megabytes} HTTP/1.1\r\nHost: bench.example\r\n\r\n`);
  await promise;
}

async function upload(stream: Duplex, { base }: Way): Promise<void> {
  const piece = Buffer.alloc(1024 * 1024, 'x');
  const length = megabytes * piece.length;
  stream.write(`POST ${base}/ HTTP/1.1\r\nHost: bench.example\r\nContent-Length: ${length}\r\n\r\n`);
  const answered = once(stream, 'data');
  for (let left = megabytes; left > 0; left--) if (!stream.write(piece)) await once(stream, 'drain');
  await answered;
}

/** The bytes go through the event loop of the server: what a tunnel takes of it. */
async function measureBusyTunnel(): Promise<void> {
  for (const way of [plain[1]!, ...secure.slice(1)]) {
    const before = await proxy.tell();
    const stream = await way.open();
    const began = performance.now();
    await download(stream, way);
    const ms = performance.now() - began;
    stream.destroy();
    const { cpuMs, delayMs } = await proxy.tell();
    const perGigabyte = ((cpuMs! - before['cpuMs']!) / megabytes) * 1024;
    console.log(
      `${way.name}: ${(perGigabyte / 1000).toFixed(2)} CPU seconds of the proxy for a GB, ${Math.round(((cpuMs! - before['cpuMs']!) / ms) * 100)} % of a core, p99 of the event loop's delay ${delayMs!.toFixed(1)} ms`,
    );
  }
}

async function dial(port: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: Number(port), noDelay: true });
  await once(socket, 'connect');
  return socket;
}

async function dialTunnel(port: string): Promise<Socket> {
  const socket = await dial(port);
  socket.write('CONNECT bench.example:443 HTTP/1.1\r\nHost: bench.example:443\r\n\r\n');
  await once(socket, 'data');
  return socket;
}

async function shake(socket: Socket, ca: string): Promise<Duplex> {
  const stream = connectTls({ socket, servername: 'bench.example', ca });
  await once(stream, 'secureConnect');
  return stream;
}

/** What the peers say of themselves. */
type Fact = 'plain' | 'tls' | 'pass' | 'intercept' | 'certificate';

async function startPeer(...words: readonly unknown[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'egress-peer.ts'), ...words.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async () => JSON.parse((await lines.next()).value as string) as Record<string, never>;
  return {
    ready: (await read()) as Record<Fact, string>,
    tell(): Promise<Record<string, number>> {
      child.stdin.write('\n');
      return read();
    },
    end: () => child.stdin.end(),
  };
}
