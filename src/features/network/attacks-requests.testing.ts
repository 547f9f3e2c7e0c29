import { connect, get, type AttackScene, type EgressAttack } from './attack.testing.ts';

const mustNotHappen = 'a second request, or another host, is smuggled out in a request';

interface Smuggling {
  readonly stoppedBy: string;
  readonly refusal?: EgressAttack['refusal'];
  readonly method?: string;
}

/** A whole request to the allowed host with these headers and what follows them. */
const smuggle = (
  name: string,
  headers: string,
  body: string,
  { stoppedBy, refusal = 'bad_request', method = 'POST' }: Smuggling,
): EgressAttack => ({
  name,
  mustNotHappen,
  stoppedBy,
  refusal,
  steps: (scene) => [
    {
      send: `${method} http://${scene.allowed}/ HTTP/1.1\r\nHost: ${scene.allowed}\r\n${fill(headers, scene)}\r\n${fill(body, scene)}`,
    },
  ],
});

const fill = (text: string, { allowed, earPort }: AttackScene): string =>
  text
    .replaceAll(
      'SECOND',
      `GET http://127.0.0.1:${earPort}/smuggled HTTP/1.1\r\nHost: 127.0.0.1:${earPort}\r\n\r\n`,
    )
    .replaceAll('EAR', `127.0.0.1:${earPort}`)
    .replaceAll('OK', allowed);

const strict = { stoppedBy: "Node's strict parser" };
const framing = { stoppedBy: 'one Content-Length or one "Transfer-Encoding: chunked", and nothing else' };
const hostHeader = { stoppedBy: 'one Host header that agrees with the URL', method: 'GET' };

const smuggling: readonly EgressAttack[] = [
  smuggle(
    'says a length, then chunks',
    'Content-Length: 6\r\nTransfer-Encoding: chunked\r\n',
    '0\r\n\r\nSECOND',
    strict,
  ),
  smuggle(
    'says chunks, then a length',
    'Transfer-Encoding: chunked\r\nContent-Length: 6\r\n',
    '0\r\n\r\nSECOND',
    strict,
  ),
  smuggle('says two lengths', 'Content-Length: 1\r\nContent-Length: 90\r\n', 'xSECOND', strict),
  smuggle('says one length twice', 'Content-Length: 1\r\nContent-Length: 1\r\n', 'xSECOND', strict),
  smuggle('says a list of lengths', 'Content-Length: 1, 90\r\n', 'xSECOND', strict),
  smuggle('says a length with a sign', 'Content-Length: +1\r\n', 'xSECOND', strict),
  smuggle('says a length in hexadecimal', 'Content-Length: 0x1\r\n', 'xSECOND', strict),
  smuggle('says a length that overflows', 'Content-Length: 18446744073709551617\r\n', 'xSECOND', strict),
  smuggle('says chunks that are none', 'Transfer-Encoding: xchunked\r\n', '0\r\n\r\nSECOND', framing),
  smuggle('says chunks and more', 'Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\nSECOND', strict),
  smuggle(
    'says another coding before chunks',
    'Transfer-Encoding: gzip, chunked\r\n',
    '0\r\n\r\nSECOND',
    framing,
  ),
  smuggle(
    'says chunks twice',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n',
    '0\r\n\r\nSECOND',
    framing,
  ),
  smuggle(
    'says chunks after a vertical tab',
    'Transfer-Encoding: \x0bchunked\r\n',
    '0\r\n\r\nSECOND',
    strict,
  ),
  smuggle(
    'says chunks with a space before the colon',
    'Transfer-Encoding : chunked\r\n',
    '0\r\n\r\nSECOND',
    strict,
  ),
  smuggle('says chunks in a folded line', 'Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\nSECOND', strict),
  smuggle(
    'has a chunk whose size is not a number',
    'Transfer-Encoding: chunked\r\n',
    '1z\r\nx\r\n0\r\n\r\nSECOND',
    strict,
  ),
  smuggle(
    'has a chunk whose size ends with a bare line feed',
    'Transfer-Encoding: chunked\r\n',
    '1\nx\r\n0\r\n\r\nSECOND',
    strict,
  ),
  smuggle(
    'has a chunk that is longer than it says',
    'Transfer-Encoding: chunked\r\n',
    '1\r\nxSECOND\r\n0\r\n\r\n',
    strict,
  ),
  smuggle('sends the next request before the answer', '', 'SECOND', {
    stoppedBy: 'each request is judged',
    refusal: 'ip_address',
    method: 'GET',
  }),
  smuggle(
    'has Content-Length removed by Connection',
    'Connection: Content-Length\r\nContent-Length: 100\r\n',
    'SECOND',
    {
      stoppedBy: 'Connection may not name what the request needs',
      method: 'GET',
    },
  ),
  smuggle('has Host removed by Connection', 'Connection: close, Host\r\n', '', {
    stoppedBy: 'Connection may not name what the request needs',
    method: 'GET',
  }),
  smuggle('ends lines with bare line feeds', 'X: y\nX-Smuggled: 1\n', '\n', strict),
  smuggle('ends a line with a bare carriage return', 'X: y\rX-Smuggled: 1\r\n', '', strict),
  smuggle('has a NUL in a header', 'X: a\0b\r\n', '', strict),
  smuggle('has a line without a colon', 'X-Smuggled\r\n', '', strict),
  smuggle('has another Host', 'Host: EAR\r\n', '', hostHeader),
  smuggle('has a folded Host', 'X: y\r\n Host: EAR\r\n', '', strict),
  smuggle(
    'changes to WebSocket, and sends what it likes',
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n',
    'SECOND',
    {
      stoppedBy: 'protocols cannot be changed',
      method: 'GET',
    },
  ),
  smuggle('asks for the headers back (TRACE)', '', '', { stoppedBy: 'a list of methods', method: 'TRACE' }),
  smuggle('makes up a method', '', '', { ...strict, method: 'SMUGGLE' }),
  smuggle('writes the method in small letters', '', '', { ...strict, method: 'get' }),
  smuggle('expects something odd', 'Expect: smuggled\r\nContent-Length: 1\r\n', 'x', {
    stoppedBy: 'only 100-continue can be expected',
  }),
  smuggle(
    'hides a header in trailers',
    'Connection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-Smuggled\r\n',
    '0\r\nX-Smuggled: 1\r\n\r\n',
    {
      stoppedBy: 'trailers are dropped',
      refusal: null,
    },
  ),
  smuggle(
    'hands on headers of the proxy',
    'Connection: close, X-Smuggled\r\nProxy-Authorization: Basic smuggled\r\nProxy-X: smuggled\r\nX-Smuggled: 1\r\n',
    '',
    {
      stoppedBy: 'headers for one hop are removed',
      refusal: null,
      method: 'GET',
    },
  ),
];

const raw = (
  name: string,
  stoppedBy: string,
  bytes: (scene: AttackScene) => string | Buffer,
  refusal: EgressAttack['refusal'] = 'bad_request',
): EgressAttack => ({
  name,
  mustNotHappen,
  stoppedBy,
  refusal,
  steps: (scene) => [{ send: bytes(scene) }],
});

const others: readonly EgressAttack[] = [
  raw(
    'names another host in the only Host',
    'one Host header that agrees with the URL',
    ({ allowed, earPort }) => get(`http://${allowed}/`, `127.0.0.1:${earPort}`),
  ),
  raw('names another port in Host', 'one Host header that agrees with the URL', ({ allowed }) =>
    get(`http://${allowed}/`, `${allowed}:22`),
  ),
  raw('names a list of hosts in Host', 'one Host header that agrees with the URL', ({ allowed, other }) =>
    get(`http://${allowed}/`, `${allowed}, ${other}`),
  ),
  raw('names a user in Host', 'one Host header that agrees with the URL', ({ allowed, other }) =>
    get(`http://${allowed}/`, `${allowed}@${other}`),
  ),
  raw(
    'has no Host',
    'one Host header that agrees with the URL',
    ({ allowed }) => `GET http://${allowed}/ HTTP/1.1\r\n\r\n`,
  ),
  raw(
    'opens a tunnel with another Host',
    'one Host header that agrees with the target',
    ({ allowed, other }) => `CONNECT ${allowed}:443 HTTP/1.1\r\nHost: ${other}:443\r\n\r\n`,
  ),
  raw('opens a tunnel by a URL', 'CONNECT has a host and a port', ({ allowed }) =>
    connect(`http://${allowed}:443/`),
  ),
  raw('opens a tunnel with a user', 'CONNECT has a host and a port', ({ allowed, earPort }) =>
    connect(`${allowed}:443@127.0.0.1:${earPort}`),
  ),
  raw(
    'opens a tunnel with a body',
    'CONNECT has no body',
    ({ allowed, earPort }) =>
      `${connect(`${allowed}:443`, 'Content-Length: 60\r\n')}${get(`http://127.0.0.1:${earPort}/smuggled`, 'x')}`,
  ),
  raw(
    'opens a tunnel with a body in chunks',
    'CONNECT has no body',
    ({ allowed }) => `${connect(`${allowed}:443`, 'Transfer-Encoding: chunked\r\n')}0\r\n\r\n`,
  ),
  raw(
    'says chunks in HTTP/1.0',
    'chunks are of HTTP/1.1',
    ({ allowed }) => `POST http://${allowed}/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ),
  raw('speaks HTTP/0.9', 'HTTP/1.1 and HTTP/1.0', ({ allowed }) => `GET http://${allowed}/smuggled\r\n\r\n`),
  raw('says HTTP/2.0', 'HTTP/1.1 and HTTP/1.0', ({ allowed }) =>
    get(`http://${allowed}/`, allowed).replace('HTTP/1.1', 'HTTP/2.0'),
  ),
  raw('says HTTP/1.2', "Node's strict parser", ({ allowed }) =>
    get(`http://${allowed}/`, allowed).replace('HTTP/1.1', 'HTTP/1.2'),
  ),
  raw(
    'begins with the preface of HTTP/2',
    "Node's strict parser",
    () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
  ),
  raw(
    'speaks RTSP',
    'a list of methods',
    ({ allowed }) => `DESCRIBE http://${allowed}/smuggled RTSP/1.0\r\nHost: ${allowed}\r\n\r\n`,
  ),
  raw('speaks SOCKS5', "Node's strict parser", () => Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80])),
  raw('speaks SOCKS4', "Node's strict parser", () => Buffer.from([4, 1, 0, 80, 127, 0, 0, 1, 0])),
  raw('speaks TLS to the proxy itself', "Node's strict parser", () =>
    Buffer.from('16030100050100000103', 'hex'),
  ),
  raw('sends a URL of 20 KB', 'a limit for headers', ({ allowed }) =>
    get(`http://${allowed}/${'x'.repeat(20_000)}`, allowed),
  ),
  raw('sends a header of 1 MB', 'a limit for headers', ({ allowed }) =>
    get(`http://${allowed}/`, allowed, `X: ${'x'.repeat(1_000_000)}\r\n`),
  ),
  raw('sends 2,000 headers', 'a limit for headers', ({ allowed }) =>
    get(`http://${allowed}/`, allowed, 'X: y\r\n'.repeat(2000)),
  ),
  raw('sends 1,000 requests at once', 'one request at a time, and one that waits', ({ allowed }) =>
    get(`http://${allowed}/`, allowed).repeat(1000),
  ),
  {
    name: 'opens 1,000 connections',
    mustNotHappen: 'the proxy runs out of descriptors, or serves nobody else',
    stoppedBy: 'a limit for connections at once',
    refusal: 'too_many',
    connections: 1000,
    steps: ({ allowed }) => [{ send: `GET http://${allowed}/ HTTP/1.1\r\n` }, { pauseMs: 300 }],
  },
  {
    name: 'sends a header that never ends, byte by byte',
    mustNotHappen: 'a connection is kept forever',
    stoppedBy: 'a time limit for headers',
    refusal: null,
    steps: ({ allowed }) => [
      { send: `GET http://${allowed}/smuggled HTTP/1.1\r\nHost: ${allowed}\r\nX: ` },
      ...Array.from({ length: 20 }, () => [{ pauseMs: 100 }, { send: 'x' }]).flat(),
    ],
  },
  {
    name: 'sends a body that never ends, byte by byte',
    mustNotHappen: 'a connection is kept forever',
    stoppedBy: 'a body has to move on',
    refusal: 'too_slow',
    steps: ({ allowed }) => [
      { send: `POST http://${allowed}/hang HTTP/1.1\r\nHost: ${allowed}\r\nContent-Length: 100000\r\n\r\n` },
      ...Array.from({ length: 30 }, () => [{ pauseMs: 100 }, { send: 'x' }]).flat(),
    ],
  },
  {
    name: 'goes away in the middle of a body, again and again',
    mustNotHappen: 'connections to the outside are left behind',
    stoppedBy: 'what belongs to a connection ends with it',
    refusal: null,
    connections: 20,
    leaves: true,
    steps: ({ allowed }) => [
      {
        send: `POST http://${allowed}/hang HTTP/1.1\r\nHost: ${allowed}\r\nContent-Length: 100000\r\n\r\nhalf`,
      },
      { pauseMs: 200 },
    ],
  },
  {
    name: 'asks an allowed host, then loopback, in one connection',
    mustNotHappen: 'the second request goes where the first was allowed to go, or further',
    stoppedBy: 'each request is judged',
    refusal: 'ip_address',
    steps: ({ allowed, earPort }) => [
      { send: get(`http://${allowed}/`, allowed) },
      { until: 'hello' },
      { pauseMs: 100 },
      { send: get(`http://127.0.0.1:${earPort}/smuggled`, `127.0.0.1:${earPort}`) },
    ],
  },
];

export const requestAttacks: readonly EgressAttack[] = [...smuggling, ...others];
