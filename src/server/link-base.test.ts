import assert from 'node:assert/strict';
import { it } from 'node:test';
import { recordProof } from '../../test/requirements/requirements.testing.ts';
import { getLinkBase } from './link-base.ts';

const unset = { publicUrl: null, linkHost: null, linkPort: null };

const cases: [string, Partial<Record<keyof typeof unset, string | number>>, string, string][] = [
  ['the address listened on', {}, 'http://127.0.0.1:40123', 'http://127.0.0.1:40123'],
  ['localhost for all addresses', {}, 'http://0.0.0.0:8000', 'http://localhost:8000'],
  ['localhost for all addresses of IPv6', {}, 'http://[::]:8000', 'http://localhost:8000'],
  ['an address of IPv6 as it is', {}, 'http://[::1]:8000', 'http://[::1]:8000'],
  ['the port that a container publishes', { linkPort: 9180 }, 'http://0.0.0.0:8000', 'http://localhost:9180'],
  [
    'the host that it is known by',
    { linkHost: 'lab.example' },
    'http://0.0.0.0:8000',
    'http://lab.example:8000',
  ],
  ['both', { linkHost: 'lab.example', linkPort: 80 }, 'http://127.0.0.1:9180', 'http://lab.example'],
  [
    'localhost where all addresses were named',
    { linkHost: '0.0.0.0' },
    'http://127.0.0.1:1',
    'http://localhost:1',
  ],
  [
    'the public URL whatever else is set',
    { publicUrl: 'https://crate.example/base', linkHost: 'lab.example', linkPort: 1 },
    'http://127.0.0.1:9180',
    'https://crate.example/base',
  ],
];

for (const [what, given, url, expected] of cases)
  it(`links carry ${what}`, () => {
    assert.equal(getLinkBase({ ...unset, ...given } as typeof unset, url), expected);
    recordProof('C8:else-the-listening-host-and-port');
  });
