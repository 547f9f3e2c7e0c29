import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { createClientAddress } from './client-address.ts';

const from = (remoteAddress: string | undefined, forwarded?: string) => ({
  socket: { remoteAddress },
  headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
});

const getAddress = createClientAddress(['127.0.0.1', '::1', '10.0.0.0/8', '2001:db8::/32']);

for (const [what, peer, forwarded, address] of [
  ['nothing is forwarded: the peer', '127.0.0.1', undefined, '127.0.0.1'],
  ['one proxy', '127.0.0.1', '203.0.113.7', '203.0.113.7'],
  ['a peer whose IPv4 address is inside of IPv6', '::ffff:127.0.0.1', '203.0.113.7', '203.0.113.7'],
  ['a peer that is not trusted is not believed', '198.51.100.1', '203.0.113.7', '198.51.100.1'],
  ['two proxies in a row', '127.0.0.1', '203.0.113.7, 10.1.2.3', '203.0.113.7'],
  [
    'what the client wrote itself is at the left',
    '127.0.0.1',
    '6.6.6.6, 127.0.0.1, 203.0.113.7',
    '203.0.113.7',
  ],
  ['nobody but proxies: the first of them', '127.0.0.1', '10.9.9.9, 10.1.2.3', '10.9.9.9'],
  ['garbage at the right: the proxy that wrote it', '127.0.0.1', '203.0.113.7, unknown', '127.0.0.1'],
  ['garbage behind a proxy: that proxy', '127.0.0.1', 'evil\u0000, 10.1.2.3', '10.1.2.3'],
  ['an empty header', '127.0.0.1', '', '127.0.0.1'],
  ['IPv4 with a port', '127.0.0.1', '203.0.113.7:4711', '203.0.113.7'],
  ['IPv6 in brackets with a port', '::1', '[2a00:1450::5]:443', '2a00:1450::5'],
  ['IPv6 in brackets', '::1', '[2a00:1450::5]', '2a00:1450::5'],
  ['bare IPv6', '::1', '2a00:1450::5', '2a00:1450::5'],
  ['IPv6 with a zone', '::1', 'fe80::1%eth0', 'fe80::1'],
  ['a trusted network of IPv6', '2001:db8::9', '203.0.113.7', '203.0.113.7'],
  ['a trusted proxy, mapped', '127.0.0.1', '203.0.113.7, ::ffff:10.0.0.1', '203.0.113.7'],
] as const)
  it(`client address: ${what}`, () => assert.equal(getAddress(from(peer, forwarded)), address));

it('without trusted proxies nothing that is forwarded is believed', () => {
  assert.equal(createClientAddress([])(from('127.0.0.1', '203.0.113.7')), '127.0.0.1');
});

it('whatever a client writes to the left, its own address is told', () => {
  const hostile = fc.oneof(
    fc.string(),
    fc.ipV4(),
    fc.ipV6(),
    fc.constant(','),
    fc.constant('127.0.0.1,'.repeat(900)),
  );
  fc.assert(
    fc.property(hostile, (left) => {
      assert.equal(getAddress(from('127.0.0.1', `${left}, 203.0.113.7`)), '203.0.113.7');
      assert.equal(typeof getAddress(from('127.0.0.1', left)), 'string');
    }),
  );
});
