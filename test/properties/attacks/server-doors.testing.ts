import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { startStdio } from '../../conformance/stdio.testing.ts';
import { startServer } from '../../server.testing.ts';
import type { ServerAttack } from './server-stage.testing.ts';

const wall = 'doors' as const;

/** Attacks on what the server answers over HTTP, by who has no right to an answer. */
export const doorAttacks: readonly ServerAttack[] = [
  {
    name: 'calls a stdio server over HTTP, as another user of the machine',
    wall,
    mustNotHappen: 'a tool runs, or anything but links and /livez answers',
    async play() {
      await using stdio = await startStdio('--sandbox', 'off');
      const url = await stdio.linksAt();
      for (const path of stdioPaths) {
        const { status, body } = await getAsStranger(`${url}${path}`, ['POST', 'GET']);
        if (status !== '404 404') return `${path} answered ${status}: ${body.slice(0, 200)}`;
      }
      return null;
    },
  },
  {
    name: 'guesses tokens under addresses that it makes up (X-Forwarded-For)',
    wall,
    mustNotHappen: 'the limit on guesses does not apply',
    async play() {
      for (const trustedProxy of [[], ['127.0.0.1', '10.0.0.0/8']]) {
        await using server = await startServer({ guessLimit: 3, trustedProxy });
        const statuses = [];
        for (let count = 0; count < 12; count++) {
          const made = `203.0.113.${count}, 10.0.0.${count}, garbage ${count}`;
          const headers = { 'X-Forwarded-For': made, Forwarded: `for=203.0.113.${count}` };
          statuses.push((await fetch(`${server.url}/files/guess-${count}`, { headers })).status);
        }
        if (statuses.at(-1) !== 429) return `${statuses.join(' ')} with ${JSON.stringify(trustedProxy)}`;
      }
      return null;
    },
  },
  {
    name: 'sends one request of 3.7 MB with 390,000 keys',
    wall,
    mustNotHappen: 'it is parsed and checked, for which the server would stand still for seconds',
    async play({ server }) {
      const filters = Array.from({ length: 390_000 }, (_, key) => `"${key.toString(36)}":1`).join(',');
      const params = `{"name":"search_index","arguments":{"query":"","field_filters":{${filters}}}}`;
      for (const method of ['tools/call', 'ping']) {
        const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
        const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
        const answer = await fetch(`${server.url}/mcp`, { method: 'POST', headers, body });
        const { length } = await answer.text();
        if (answer.status !== 413 || length > 1000) return `${method}: ${answer.status}, ${length} bytes`;
      }
      return null;
    },
  },
];

/** Every route that works without a token, and other ways to spell them. */
export const stdioPaths = `
  / /mcp /mcp/ /MCP //mcp /./mcp /%6dcp /mcp?x=1
  /livez/../mcp /livez%2f..%2fmcp /executions /executions/exec_1 /local/artifacts /local/artifacts/a.txt /metrics /status
  /readyz /openapi.json /.well-known/oauth-protected-resource /files /files/x/y
`
  .trim()
  .split(/\s+/);

const listTools = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const mcpHeaders = ['Content-Type: application/json', 'Accept: application/json, text/event-stream'];

/** The statuses of one request by each method, made by uid 1001 where that is possible. */
async function getAsStranger(url: string, methods: readonly string[]) {
  const who = process.getuid?.() === 0 ? { uid: 1001, gid: 1001 } : {};
  const answers = methods.map(async (method) => {
    const body = method === 'POST' ? ['--data', listTools] : [];
    const headers = mcpHeaders.flatMap((header) => ['-H', header]);
    const args = [
      '-s',
      '--path-as-is',
      '--max-time',
      '20',
      '-X',
      method,
      ...headers,
      ...body,
      '-w',
      '\n%{http_code}',
      url,
    ];
    const { stdout } = await promisify(execFile)('curl', args, { ...who, cwd: '/' });
    return { status: stdout.slice(-3), body: stdout.slice(0, -4) };
  });
  const all = await Promise.all(answers);
  return { status: all.map(({ status }) => status).join(' '), body: all.map(({ body }) => body).join(' ') };
}
