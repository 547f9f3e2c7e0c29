import { get, tunnel, type AttackScene, type EgressAttack } from './attack.testing.ts';
import { makeExtension, makeHello, makeHelloMessage, makeNames, makeRecord } from './client-hello.testing.ts';

const mustNotHappen = 'a byte leaves that is not TLS to the host of the tunnel';
const sameName = 'the ClientHello has to name the host of the tunnel, once, readable';

const inTunnel = (
  name: string,
  bytes: (scene: AttackScene) => readonly Buffer[],
  stoppedBy = sameName,
): EgressAttack => ({
  name,
  mustNotHappen,
  stoppedBy,
  refusal: 'wrong_tls',
  steps: (scene) => tunnel(`${scene.allowed}:443`, ...bytes(scene)),
});

const onlyTls = 'a tunnel carries TLS alone';

export const tlsAttacks: readonly EgressAttack[] = [
  inTunnel(
    'sends plain HTTP through a tunnel',
    ({ allowed }) => [Buffer.from(get('/smuggled', allowed))],
    onlyTls,
  ),
  inTunnel('speaks SSH through a tunnel', () => [Buffer.from('SSH-2.0-smuggled\r\n')], onlyTls),
  inTunnel(
    'speaks SSL 2 through a tunnel',
    () => [Buffer.from('802e0100020015000000100100800700c0030080060040020080040080', 'hex')],
    onlyTls,
  ),
  inTunnel(
    'sends an alert, then what it likes',
    () => [makeRecord(21, Buffer.from([1, 0])), Buffer.from('smuggled')],
    onlyTls,
  ),
  inTunnel(
    'sends data of an encrypted connection at once',
    () => [makeRecord(23, Buffer.from('smuggled'))],
    onlyTls,
  ),
  inTunnel(
    'begins with the answer of a server',
    ({ allowed }) => {
      const message = makeHelloMessage({ names: [allowed] });
      return [makeRecord(22, Buffer.concat([Buffer.from([2]), message.subarray(1)]))];
    },
    onlyTls,
  ),
  inTunnel('names another host in TLS', ({ other }) => [makeHello({ names: [other] })]),
  inTunnel('names an allowed host in TLS that is not that of the tunnel', ({ wildcard }) => [
    makeHello({ names: [`x.${wildcard}`] }),
  ]),
  inTunnel('names no host in TLS', () => [makeHello({})]),
  inTunnel('names an address in TLS', () => [makeHello({ names: ['127.0.0.1'] })]),
  inTunnel('names an empty host in TLS', () => [makeHello({ names: [''] })]),
  inTunnel('names two hosts in TLS', ({ allowed, other }) => [makeHello({ names: [allowed, other] })]),
  inTunnel('has the extension with the name twice', ({ allowed, other }) => [
    makeHello({ names: [allowed], extensions: [makeNames([other])] }),
  ]),
  inTunnel('names the host with a NUL and more behind it', ({ allowed, other }) => [
    makeHello({ names: [`${allowed}\0.${other}`] }),
  ]),
  inTunnel('names the host with a dot and more behind it', ({ allowed, other }) => [
    makeHello({ names: [`${allowed}.${other}`] }),
  ]),
  inTunnel('names the host with a space behind it', ({ allowed }) => [makeHello({ names: [`${allowed} `] })]),
  inTunnel('names the host with a dot at its end', ({ allowed }) => [makeHello({ names: [`${allowed}.`] })]),
  inTunnel('hides another host in an encrypted ClientHello (ECH)', ({ allowed }) => [
    makeHello({ names: [allowed], extensions: [makeExtension(0xfe0d, Buffer.alloc(200))] }),
  ]),
  inTunnel('hides another host as drafts did (ESNI)', ({ allowed }) => [
    makeHello({ names: [allowed], extensions: [makeExtension(0xffce, Buffer.alloc(200))] }),
  ]),
  inTunnel('names another host in a ClientHello that comes byte by byte', ({ other }) =>
    [...makeHello({ names: [other] })].map((byte) => Buffer.from([byte])),
  ),
  inTunnel('names another host in a ClientHello of many records', ({ other }) => [
    makeHello({ names: [other], recordBytes: 9 }),
  ]),
  inTunnel('cuts a ClientHello into too many records', ({ allowed }) => [
    makeHello({ names: [allowed], recordBytes: 1 }),
  ]),
  inTunnel('puts another record between the parts of a ClientHello', ({ allowed }) => {
    const message = makeHelloMessage({ names: [allowed] });
    return [
      makeRecord(22, message.subarray(0, 40)),
      makeRecord(23, Buffer.from('smuggled')),
      makeRecord(22, message.subarray(40)),
    ];
  }),
  inTunnel('puts a second ClientHello into the same record', ({ allowed, other }) => [
    makeRecord(
      22,
      Buffer.concat([makeHelloMessage({ names: [allowed] }), makeHelloMessage({ names: [other] })]),
    ),
  ]),
  inTunnel('sends a ClientHello that says it has 16 MB', () => [
    makeRecord(22, Buffer.concat([Buffer.from([1, 255, 255, 255]), Buffer.alloc(9000)])),
  ]),
  inTunnel('sends a ClientHello of 60 KB', ({ allowed }) => [
    makeHello({
      names: [allowed],
      extensions: [makeExtension(21, Buffer.alloc(60_000))],
      recordBytes: 16_000,
    }),
  ]),
  {
    ...inTunnel('opens a tunnel, and never begins TLS', () => []),
    stoppedBy: 'a time limit for the ClientHello',
    refusal: 'too_slow',
  },
  {
    ...inTunnel('opens a tunnel, and leaves the last byte of the ClientHello out', ({ allowed }) => [
      makeHello({ names: [allowed] }).subarray(0, -1),
    ]),
    stoppedBy: 'a time limit for the ClientHello',
    refusal: 'too_slow',
  },
  {
    name: 'sends plain HTTP right behind the request for a tunnel',
    mustNotHappen,
    stoppedBy: onlyTls,
    refusal: 'wrong_tls',
    steps: ({ allowed }) => [
      { send: `CONNECT ${allowed}:443 HTTP/1.1\r\nHost: ${allowed}:443\r\n\r\n${get('/smuggled', allowed)}` },
    ],
  },
];
