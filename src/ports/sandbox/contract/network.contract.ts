import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Duplex } from 'node:stream';
import { collectBytes } from '../../../platform/streams.ts';
import type { CellRequest, Language, RunNetwork, SandboxSession } from '../sandbox.ts';
import { useBench, type Bench, type MakeSandbox } from './harness.contract.ts';

/** Stands for the proxy: answers whatever is asked with a name, and remembers the first lines. */
function createTestNetwork(name: string): RunNetwork & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    accept(connection: Duplex) {
      connection.on('error', () => {});
      connection.once('data', (head: Buffer) => {
        asked.push(head.toString().split('\r\n')[0]!);
        const body = `from ${name}`;
        connection.end(
          `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
        );
      });
    },
    environment: (url) => ({ http_proxy: url, HTTP_PROXY: url, NODE_USE_ENV_PROXY: '1' }),
  };
}

const asks: Readonly<Record<Language, string>> = {
  python: "import urllib.request\nprint(urllib.request.urlopen('http://example.test/a').read().decode())",
  node: "console.log(await (await fetch('http://example.test/a')).text())",
  bash: `host=\${http_proxy#http://}; exec 4<>"/dev/tcp/\${host%:*}/\${host#*:}"
printf 'GET http://example.test/a HTTP/1.1\\r\\nHost: example.test\\r\\n\\r\\n' >&4; tail -n 1 <&4; echo`,
};

/** Says how it went, whatever the language of the machine is. */
const tryPort = `import os, socket
print([name for name in os.environ if 'proxy' in name.lower()])
try:
    connection = socket.create_connection(('127.0.0.1', 3128), 5)
    connection.sendall(b'GET http://example.test/ HTTP/1.1\\r\\n\\r\\n')
    print('answered' if connection.recv(10) else 'closed')
except OSError: print('closed')`;

/** Whether connections of a run reach the network that it was given, and no other. */
export function networkContract(make: MakeSandbox): void {
  for (const isProxied of [true, false])
    describe(`a network by proxy, with interpreters that wait ${isProxied ? 'for one' : 'without'}`, () => {
      const bench = useBench(make, { isProxied });

      for (const language of ['python', 'node', 'bash'] as const)
        it(`${language} reaches the network that the run was given`, async () => {
          const network = createTestNetwork(language);
          const got = await bench.run(language, asks[language], { network });
          assert.equal(got.out, `from ${language}\n`, got.err);
          assert.equal(network.asked[0], 'GET http://example.test/a HTTP/1.1');
        });

      it('a run that was given none has no variables for one, and reaches nobody', async () => {
        assert.equal((await bench.run('python', tryPort)).out, '[]\nclosed\n');
      });

      it('runs at the same time reach each their own', async () => {
        const networks = ['one', 'two', 'three'].map(createTestNetwork);
        const outcomes = await Promise.all(
          networks.map((network) => bench.run('python', asks.python, { network })),
        );
        assert.deepEqual(
          outcomes.map(({ out }) => out),
          ['from one\n', 'from two\n', 'from three\n'],
        );
      });

      it('megabytes go both ways, whole', async () => {
        const size = 3_000_000;
        const seen: number[] = [];
        const accept = (connection: Duplex): void => {
          let count = 0;
          connection.on('error', () => {});
          connection.on('data', (chunk: Buffer) => (count += chunk.length));
          connection.on('end', () => {
            seen.push(count);
            connection.end(Buffer.alloc(size, 'y'));
          });
        };
        const { environment } = createTestNetwork('');
        const got = await bench.run('python', sendAndCount(size), { network: { accept, environment } });
        assert.deepEqual([got.out, seen], [`${size}\n`, [size]], got.err);
      });

      it('the socket of the server is of no use to code', async () => {
        const network = createTestNetwork('nobody');
        const got = await bench.run('python', knockAtServer, { network });
        assert.match(got.out, /^(?:closed|none)\n$/, got.err);
        assert.deepEqual(network.asked, []);
      });

      it('each cell of a session has the network that it was given, and between cells there is none', async () => {
        const { environment } = createTestNetwork('');
        const session = await startSession(bench, environment);
        const [first, second] = [createTestNetwork('first'), createTestNetwork('second')];
        assert.equal(await runCell(session, asks.python, first), 'from first\n');
        assert.equal(await runCell(session, asks.python, second), 'from second\n');
        assert.equal(
          await runCell(session, `try:\n  ${reach}\nexcept OSError: print('none')`, null),
          'none\n',
        );
        assert.deepEqual([first.asked.length, second.asked.length], [1, 1]);
        await session.close();
      });
    });
}

const reach = "print(urllib.request.urlopen('http://example.test/a', timeout=5).read().decode())";

const sendAndCount = (size: number): string => `import os, socket
host, port = os.environ['http_proxy'][7:].split(':')
connection = socket.create_connection((host, int(port)))
connection.sendall(b'x' * ${size})
connection.shutdown(socket.SHUT_WR)
count = 0
while part := connection.recv(65536): count += len(part)
print(count)`;

const knockAtServer = `import socket
knock = socket.socket(socket.AF_UNIX)
try: knock.connect('/opt/workcrate/gate')
except OSError: print('none')
else:
    try:
        knock.sendall(b'0' * 32 + b'\\nGET http://example.test/ HTTP/1.1\\r\\n\\r\\n')
        print('answered' if knock.recv(10) else 'closed')
    except OSError: print('closed')`;

async function startSession(bench: Bench, environment: RunNetwork['environment']): Promise<SandboxSession> {
  const { inside } = await bench.folder();
  return bench.sandbox.startSession({
    id: `sess_${randomBytes(6).toString('hex')}`,
    user: 'anna',
    place: await bench.place('anna'),
    language: 'python',
    workingDir: inside,
    environment,
  });
}

async function runCell(session: SandboxSession, code: string, network: RunNetwork | null): Promise<string> {
  const signal = new AbortController().signal;
  const cell: CellRequest = { code, stdin: '', timeoutMs: 20_000, signal, network };
  const run = await session.run(cell);
  const [out] = await Promise.all([collectBytes(run.stdout), collectBytes(run.stderr), run.ended]);
  return out.toString();
}
