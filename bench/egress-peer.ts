/**
 * The two other processes of `egress.ts`: a server that stands for the outside, in plain HTTP and in TLS, and the proxy.
 * Each prints one line of JSON when it is ready, and another with its processor time for each line on its stdin.
 */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { openAuthority } from '../src/features/network/authority.ts';
import { createEgress } from '../src/features/network/egress.ts';
import { parseHostRules } from '../src/platform/net/host-rules.ts';
import { createLog } from '../src/platform/observability/log.ts';

const [role, ...words] = process.argv.slice(2);
console.log(JSON.stringify(role === 'outside' ? await startOutside(words[0]!) : await startProxy(words)));

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
for await (const _ of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ cpuMs: (user + system) / 1000, delayMs: delay.percentile(99) / 1e6 }));
  delay.reset();
}
process.exit();

/** `/MB` is so many megabytes; whatever is sent is read. */
async function startOutside(folder: string): Promise<object> {
  const piece = Buffer.alloc(1024 * 1024, 'x');
  const answer: RequestListener = (req, res) => {
    req.resume();
    if (req.method === 'POST') return void req.once('end', () => res.end('ok'));
    const megabytes = Number(req.url!.slice(1));
    let left = megabytes;
    res.writeHead(200, { 'Content-Length': megabytes * piece.length });
    const write = (): void => {
      while (left-- > 0) if (!res.write(piece)) return void res.once('drain', write);
      res.end();
    };
    write();
  };
  const authority = openAuthority(folder, ['bench.example']);
  const plain = await listen(createServer(answer));
  const tls = await listen(
    createTlsServer({ SNICallback: (name, done) => done(null, authority.issue(name)) }, answer),
  );
  return { plain, tls, certificate: authority.certificate };
}

async function startProxy([plain, tls, folder, certificate]: string[]): Promise<object> {
  const target = (port: string) => ({ address: '127.0.0.1', port: Number(port) });
  const many = { requests: 1e9, beginningsPerSecond: 1e9 };
  const ways = ['pass', 'intercept'].map((way) => {
    const secrets = [{ name: 'key', host: 'bench.example', header: 'Authorization', value: 'Bearer key' }];
    const egress = createEgress({
      log: createLog('warn'),
      limits: many,
      addresses: new Map([
        ['bench.example:80', target(plain!)],
        ['bench.example:443', target(tls!)],
      ]),
      ...(way === 'pass' ? {} : { secrets, interceptTls: { folder: folder!, trusted: certificate! } }),
    });
    const network = egress.open({ user: 'bench', run: 'exec_bench', rules: parseHostRules('bench.example') });
    return { egress, server: createTcpServer({ noDelay: true }, (socket) => network.accept(socket)) };
  });
  const [pass, intercept] = await Promise.all(ways.map(({ server }) => listen(server)));
  return { pass, intercept, certificate: ways[1]!.egress.certificate };
}

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}
