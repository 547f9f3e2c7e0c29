import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isWorkcrateError } from '../errors.ts';
import { parseHostAddresses } from './host-addresses.ts';

it('a name, with or without a port, leads to an address and a port', () => {
  assert.deepEqual(
    [
      ...parseHostAddresses(
        'Example.org=127.0.0.1:8080, api.example.org:443=[::1]:8443, bücher.example=10.0.0.1:1',
      ),
    ],
    [
      ['example.org', { address: '127.0.0.1', port: 8080 }],
      ['api.example.org:443', { address: '::1', port: 8443 }],
      ['xn--bcher-kva.example', { address: '10.0.0.1', port: 1 }],
    ],
  );
  assert.equal(parseHostAddresses('').size, 0);
});

it('anything else is refused with an example', () => {
  const others = [
    'example.org',
    'example.org=',
    'example.org=127.0.0.1',
    'example.org=localhost:80',
    'example.org=127.1:80',
    'example.org=127.0.0.1:0',
    'example.org:0=127.0.0.1:80',
    '127.0.0.1=127.0.0.1:80',
    '*.example.org=127.0.0.1:80',
    'a b=127.0.0.1:80',
    '=127.0.0.1:80',
    'a=127.0.0.1:80=b',
  ];
  for (const text of others)
    assert.throws(
      () => parseHostAddresses(text),
      (error) =>
        isWorkcrateError(error, 'invalid_input') && error.message.includes('write host=127.0.0.1:8080'),
      text,
    );
  assert.throws(() => parseHostAddresses('a=127.0.0.1:80,A.=127.0.0.1:81'), /two addresses/);
});
