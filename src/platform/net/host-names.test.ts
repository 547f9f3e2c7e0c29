import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { isPrivateAddress } from './addresses.ts';
import { parseAuthority, toHost, toHostName, toHostNameOfPerson } from './host-names.ts';

it('a name has one spelling', () => {
  assert.equal(toHostName('Example.ORG.'), 'example.org');
  assert.equal(toHostName('a_b.example'), 'a_b.example');
  assert.equal(toHostNameOfPerson('bücher.example'), 'xn--bcher-kva.example');
});

it('what is no plain name is none', () => {
  const others = [
    '',
    '.',
    'a..b',
    'example.org..',
    '.example.org',
    'exa%6dple.org',
    'a b',
    'a\tb',
    'a\r\nb',
    'a\0b',
    'bücher.example',
    'example。org',
    'a/b',
    'a\\b',
    'a@b',
    'a:b',
    'a*b',
    '-a.b',
    'a-.b',
    `${'a'.repeat(64)}.b`,
    `${'a.'.repeat(130)}b`,
  ];
  for (const text of others) assert.equal(toHostName(text), null, text);
});

it('no notation of an IPv4 address passes for a name', () => {
  const notations =
    '127.0.0.1 127.0.0.1. 127.1 127.0.1 2130706433 017700000001 0x7f000001 0x7f.0.0.1 0177.0.0.1 0x7f.1 0x 1.2.3.4.5 a.1 a.0x1f';
  for (const text of notations.split(' ')) assert.equal(toHostName(text), null, text);
  assert.equal(toHost('127.0.0.1'), '127.0.0.1');
  assert.equal(toHost('127.0.0.01'), null);
  assert.equal(toHost('[::1]'), '[::1]');
  assert.equal(toHost('[0:0::1]'), '[::1]');
  assert.equal(toHost('[::ffff:127.0.0.1]'), '[::ffff:7f00:1]');
  for (const text of ['::1', '[::1', '[::1%lo]', '[fe80::1%25eth0]', '[]', '[1.2.3.4]'])
    assert.equal(toHost(text), null, text);
});

it('whatever URLs take for an address is not a name, or is that address', () => {
  const digit = fc.constantFrom('0', '1', '7', '9', 'a', 'x', '.', '0x', '127', '169', '254');
  fc.assert(
    fc.property(fc.array(digit, { minLength: 1, maxLength: 8 }), (parts) => {
      const text = parts.join('');
      const url = URL.parse(`http://${text}/`);
      const isAddress = url !== null && /^[\d.]+$/.test(url.hostname);
      if (isAddress) assert.equal(toHostName(text), null, text);
      const literal = toHost(text);
      if (isAddress && literal !== null) assert.equal(literal, url.hostname);
    }),
    { numRuns: 2000 },
  );
});

it('an authority is a host and a port, and nothing else', () => {
  assert.deepEqual(parseAuthority('Example.org.:8443'), { host: 'example.org', port: 8443 });
  assert.deepEqual(parseAuthority('example.org'), { host: 'example.org', port: null });
  assert.deepEqual(parseAuthority('[::1]:80'), { host: '[::1]', port: 80 });
  const others =
    'user@example.org user:pass@example.org example.org: example.org:0 example.org:99999 example.org:+80 example.org:80:80 example.org/ ::1 [::1]x a,b ';
  for (const text of others.split(' ')) assert.equal(parseAuthority(text), null, text);
});

it('no authority is a private address in disguise', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4Extended(), fc.ipV4(), fc.ipV6(), fc.webAuthority(), fc.domain()), (text) => {
      const url = URL.parse(`http://${text.includes('::') && !text.includes('[') ? `[${text}]` : text}/`);
      const found = parseAuthority(text);
      if (found === null || url === null) return;
      assert.equal(found.host, url.hostname.replace(/\.$/, ''));
      assert.equal(isPrivateAddress(found.host), isPrivateAddress(url.hostname));
    }),
    { numRuns: 2000 },
  );
});
