import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { bracketIpv6, createHostOriginCheck } from './host-origin.ts';

const addresses = Object.values(networkInterfaces()).flatMap((each = []) =>
  each.map(({ address }) => address),
);

test('a server on all addresses answers to each of them and to its public name, and to no other', () => {
  const check = createHostOriginCheck('https://crate.example/base', '0.0.0.0');
  const names = ['localhost:1', '127.0.0.1', '[::1]:80', 'crate.example', 'CRATE.example:443'];
  for (const host of [...names, ...addresses.filter((each) => !each.includes('%')).map(bracketIpv6)])
    assert.doesNotThrow(() => check({ host }), host);
  for (const host of ['evil.example', '192.0.2.1', 'crate.example.evil', '', 'a b'])
    assert.throws(() => check({ host }), { code: 'host_refused' }, host);
});

test('a server on one address does not answer to the others', () => {
  const check = createHostOriginCheck(null, '192.0.2.7');
  assert.doesNotThrow(() => check({ host: '192.0.2.7:9180' }));
  assert.throws(() => check({ host: '192.0.2.8:9180' }), { code: 'host_refused' });
  assert.throws(() => check({ host: 'crate.example' }), { code: 'host_refused' });
});

test('pages of other origins are refused', () => {
  const check = createHostOriginCheck('https://crate.example', '0.0.0.0');
  const host = 'crate.example';
  assert.doesNotThrow(() => check({ host, origin: 'https://crate.example' }));
  assert.throws(() => check({ host, origin: 'https://evil.example' }), { code: 'origin_refused' });
});
