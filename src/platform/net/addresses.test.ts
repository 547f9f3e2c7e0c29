import assert from 'node:assert/strict';
import { it } from 'node:test';
import { endsInNumber, isLoopbackHost, isPrivateAddress, toAddressLiteral } from './addresses.ts';

it('knows the names and numbers of this machine, with brackets and without', () => {
  for (const host of ['localhost', '127.0.0.1', '127.9.8.7', '::1', '[::1]'])
    assert.ok(isLoopbackHost(host), host);
  for (const host of ['', 'localhost.example', '127.0.0.1.example', '10.0.0.1', '::2', '0.0.0.0', 'a'])
    assert.ok(!isLoopbackHost(host), host);
});

it('takes for private all that is not surely public', () => {
  const inside =
    '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.31.255.255 192.168.0.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 [::1] fe80::1 fc00::1 fd12::1 ' +
    'ff02::1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 64:ff9b::a00:1 2002:a00:1:: 2001:db8::1 example.org 1.2.3 1.2.3.4/8 fe80::1%eth0 ' +
    '192.0.0.192 100.100.100.200 168.63.129.16 169.254.170.2 192.0.2.1 198.51.100.1 203.0.113.1 192.88.99.1 240.0.0.1 239.1.1.1 ' +
    '::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b:1::a00:1 2001::1 2001:20::1 3fff::1 5f00::1 fec0::1 fd00:ec2::254 fe80:: febf::1 100::1 2606:4700::1111%eth0';
  for (const address of ['', ...inside.split(' ')]) assert.ok(isPrivateAddress(address), address);
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '172.32.0.1',
    '100.128.0.1',
    '168.63.129.17',
    '2606:4700::1111',
    '2a00:1450::1',
  ])
    assert.ok(!isPrivateAddress(address), address);
});

it('tells an address, in any notation, from a name', () => {
  for (const host of '1.2.3.4 1.2 2130706433 0x7f000001 0X7F.1 017.1. a.b.7 0x'.split(' '))
    assert.ok(endsInNumber(host), host);
  for (const host of 'example.org 1.2.example 0xy.a 7a a.7b localhost'.split(' '))
    assert.ok(!endsInNumber(host), host);
});

it('spells an address in one way, if it is written out', () => {
  assert.equal(toAddressLiteral('9.9.9.9'), '9.9.9.9');
  assert.equal(toAddressLiteral('[2620:00FE::fe]'), '[2620:fe::fe]');
  for (const host of '9.9.9 09.9.9.9 2620:fe::fe [9.9.9.9] [fe80::1%1] example.org'.split(' '))
    assert.equal(toAddressLiteral(host), null, host);
});
