import assert from 'node:assert/strict';
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import fc from 'fast-check';
import { maxHelloBytes, readClientHello } from './client-hello.ts';
import { makeExtension, makeHello, makeHelloMessage, makeNames, makeRecord } from './client-hello.testing.ts';

const complete = (serverName: string | null, isEncrypted = false) => ({
  state: 'complete',
  hello: { serverName, isEncrypted },
});

it('reads the name that a real client sends', async () => {
  const [here, there] = duplexPair();
  connectTls({ socket: here as never, servername: 'example.org' }).on('error', () => {});
  const [chunk] = (await once(there, 'data')) as [Buffer];
  assert.deepEqual(readClientHello(chunk), complete('example.org'));
  here.destroy();
});

it('waits for all of it, however it is cut into packets and records', () => {
  const name = fc.stringMatching(/^[a-z]{1,20}$/);
  fc.assert(
    fc.property(name, fc.integer({ min: 8, max: 300 }), fc.nat(), (name, recordBytes, cut) => {
      const hello = makeHello({ names: [name], recordBytes });
      assert.deepEqual(readClientHello(hello), complete(name));
      assert.deepEqual(readClientHello(Buffer.concat([hello, Buffer.from('more')])), complete(name));
      assert.equal(readClientHello(hello.subarray(0, cut % hello.length)).state, 'incomplete');
    }),
  );
});

it('knows a hello without a name, and one that hides its name', () => {
  assert.deepEqual(readClientHello(makeHello({})), complete(null));
  for (const type of [0xfe0d, 0xffce])
    assert.deepEqual(
      readClientHello(
        makeHello({ names: ['example.org'], extensions: [makeExtension(type, Buffer.alloc(9))] }),
      ),
      complete('example.org', true),
    );
});

it('what is not a plain hello is none', () => {
  const message = makeHelloMessage({ names: ['example.org'] });
  const bad: Record<string, Buffer> = {
    'plain HTTP': Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    SSH: Buffer.from('SSH-2.0-x\r\n'),
    'another record': makeRecord(23, message),
    'another version': makeRecord(22, message, 0x0201),
    'an empty record': makeRecord(22, Buffer.alloc(0)),
    'a record that is too long': Buffer.from('160301ffff', 'hex'),
    'another message': makeRecord(22, Buffer.concat([Buffer.from([2]), message.subarray(1)])),
    'something after it': makeRecord(22, Buffer.concat([message, Buffer.from([0])])),
    'another record in between': Buffer.concat([
      makeRecord(22, message.subarray(0, 50)),
      makeRecord(21, Buffer.from([1, 0])),
    ]),
    'two names': makeHello({ names: ['example.org', 'other.example'] }),
    'no name in the list': makeHello({ names: [] }),
    'names twice': makeHello({ names: ['example.org'], extensions: [makeNames(['other.example'])] }),
    'a name of another kind': makeHello({ extensions: [makeNames(['example.org'], 1)] }),
    'bytes after the names': makeHello({
      extensions: [makeExtension(0, Buffer.concat([makeNames(['a']).subarray(4), Buffer.from([0])]))],
    }),
    'a message that says it is huge': makeRecord(22, Buffer.from('01ffffff0303', 'hex')),
    'too many pieces': makeHello({ names: ['example.org'], recordBytes: 2 }),
  };
  for (const [what, bytes] of Object.entries(bad)) assert.equal(readClientHello(bytes).state, 'bad', what);
  const long = makeRecord(
    22,
    Buffer.concat([Buffer.from([1, 0, 0x3f, 0xff]), Buffer.alloc(maxHelloBytes - 4)]),
  );
  assert.equal(readClientHello(long).state, 'bad');
});

it('no bytes make it throw, and no change of a byte gives a name that is not there', () => {
  const hello = makeHello({ names: ['example.org'] });
  fc.assert(
    fc.property(fc.nat(hello.length - 1), fc.nat(255), (at, byte) => {
      const changed = Buffer.from(hello);
      changed[at] = byte;
      const reading = readClientHello(changed);
      if (reading.state === 'complete') assert.ok(changed.includes(reading.hello.serverName ?? '', 'latin1'));
    }),
    { numRuns: 2000 },
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void readClientHello(Buffer.from(bytes))),
  );
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      (bytes) => void readClientHello(makeRecord(22, Buffer.from([1, 0, 0, bytes.length, ...bytes]))),
    ),
  );
});
