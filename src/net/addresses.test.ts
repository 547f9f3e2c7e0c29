import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isLoopbackHost, isPrivateAddress } from './addresses.ts';

it('knows the names and numbers of this machine, with brackets and without', () => {
  for (const host of ['localhost', '127.0.0.1', '127.9.8.7', '::1', '[::1]'])
    assert.ok(isLoopbackHost(host), host);
  for (const host of ['', 'localhost.example', '127.0.0.1.example', '10.0.0.1', '::2', '0.0.0.0', 'a'])
    assert.ok(!isLoopbackHost(host), host);
});

it('takes for private all that is not surely public', () => {
  const inside =
    '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.31.255.255 192.168.0.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 [::1] fe80::1 fc00::1 fd12::1 ' +
    'ff02::1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 64:ff9b::a00:1 2002:a00:1:: 2001:db8::1 example.org 1.2.3 1.2.3.4/8 fe80::1%eth0';
  for (const address of ['', ...inside.split(' ')]) assert.ok(isPrivateAddress(address), address);
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700::1111',
    '2a00:1450::1',
  ])
    assert.ok(!isPrivateAddress(address), address);
});
