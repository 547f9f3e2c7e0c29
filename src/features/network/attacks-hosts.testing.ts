import { connect, get, type EgressAttack } from './attack.testing.ts';

const mustNotHappen = 'a server on loopback is reached';

/** A request for one host in place of a name. */
const byAddress = (
  what: string,
  host: string,
  stoppedBy = 'hosts are names: an address is refused in every notation',
): EgressAttack => ({
  name: `asks for ${what}: ${host}`,
  mustNotHappen,
  stoppedBy,
  refusal: 'ip_address',
  steps: ({ earPort }) => [{ send: get(`http://${host}:${earPort}/`, `${host}:${earPort}`) }],
});

const addresses: readonly EgressAttack[] = [
  byAddress('loopback', '127.0.0.1'),
  byAddress('loopback with a dot at its end', '127.0.0.1.'),
  byAddress('loopback as one number', '2130706433'),
  byAddress('loopback as one number that is too large', '6425673729'),
  byAddress('loopback in octal', '017700000001'),
  byAddress('loopback in hexadecimal', '0x7f000001'),
  byAddress('loopback in short', '127.1'),
  byAddress('loopback in shorter', '127.0.1'),
  byAddress('loopback in mixed notation', '0x7f.0.0.01'),
  byAddress('loopback with zeros', '0127.0.0.1'),
  byAddress('this host', '0.0.0.0'),
  byAddress('this host in short', '0'),
  byAddress('loopback in IPv6', '[::1]'),
  byAddress('loopback in long IPv6', '[0000:0000:0000:0000:0000:0000:0000:0001]'),
  byAddress('IPv4-mapped loopback', '[::ffff:127.0.0.1]'),
  byAddress('IPv4-mapped loopback in hexadecimal', '[::ffff:7f00:1]'),
  byAddress('IPv4-compatible loopback', '[::127.0.0.1]'),
  byAddress('loopback by NAT64', '[64:ff9b::7f00:1]'),
  byAddress('loopback by 6to4', '[2002:7f00:1::]'),
  byAddress('a local address with a zone', '[fe80::1%25lo]'),
  byAddress('a site-local address', '[fec0::1]'),
  byAddress('the metadata address', '169.254.169.254'),
  byAddress('the metadata address as one number', '2852039166'),
  byAddress('the metadata address in IPv6', '[fd00:ec2::254]'),
  byAddress('a public address that nobody allowed', '93.184.216.34'),
  {
    name: 'opens a tunnel to loopback',
    mustNotHappen,
    stoppedBy: 'hosts are names',
    refusal: 'ip_address',
    steps: ({ earPort }) => [{ send: connect(`127.0.0.1:${earPort}`) }],
  },
  {
    name: 'opens a tunnel to loopback in IPv6',
    mustNotHappen,
    stoppedBy: 'hosts are names',
    refusal: 'ip_address',
    steps: ({ earPort }) => [{ send: connect(`[::1]:${earPort}`) }],
  },
];

/** A host that is no plain name, or a URL in which different programs see different hosts. */
const byForm = (
  name: string,
  url: string,
  refusal: EgressAttack['refusal'] = 'bad_request',
): EgressAttack => ({
  name,
  mustNotHappen,
  stoppedBy: 'a URL has one form: http://, a plain name, an optional port, a path',
  refusal,
  steps: (scene) => {
    const fill = (text: string): string =>
      text.replaceAll('EAR', `127.0.0.1:${scene.earPort}`).replaceAll('OK', scene.allowed);
    return [{ send: get(fill(url), scene.allowed) }];
  },
});

const forms: readonly EgressAttack[] = [
  byForm('puts the allowed host before an @', 'http://OK@EAR/'),
  byForm('puts the allowed host and a port before an @', 'http://OK:80@EAR/'),
  byForm('puts the allowed host after an @ and a backslash', 'http://EAR\\@OK/'),
  byForm('hides a host behind a fragment', 'http://OK#@EAR/'),
  byForm('sends a fragment along', 'http://OK/#smuggled'),
  byForm('hides a host behind a query', 'http://EAR?@OK/'),
  byForm('hides a host behind a slash', 'http://EAR/@OK/'),
  byForm('writes a host in percent-encoding', 'http://127%2e0%2e0%2e1/'),
  byForm('writes the dots of a host in unicode', 'http://127\xe3\x80\x820\xe3\x80\x820\xe3\x80\x821/'),
  byForm('writes the digits of a host in unicode', 'http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/'),
  byForm('puts a tab into the host', 'http://OK\t.EAR/'),
  byForm('puts a carriage return into the host', 'http://OK\r.EAR/'),
  byForm('puts a line break into the host', 'http://OK\n.EAR/'),
  byForm('puts a NUL into the host', 'http://OK\0.EAR/'),
  byForm('puts a space into the host', 'http://OK .EAR/'),
  byForm('leaves the host out', 'http:///'),
  byForm('has a port alone', 'http://:80/'),
  byForm('has two dots at the end', 'http://OK../'),
  byForm('has a port of zero', 'http://OK:0/'),
  byForm('has a port that wraps around to 80', 'http://OK:65616/'),
  byForm('has a port with a sign', 'http://OK:+80/'),
  byForm('asks for a file', 'file:///etc/passwd'),
  byForm('asks by FTP', 'ftp://OK/'),
  byForm('asks for https without a tunnel', 'https://OK/'),
  byForm('asks for a path as of a server, with a Host on loopback', '/'),
  byForm('asks for the server itself', '*'),
  byForm('leaves the scheme out', '//EAR/'),
];

const toOther = (
  name: string,
  host: (scene: Parameters<EgressAttack['steps']>[0]) => string,
): EgressAttack => ({
  name,
  mustNotHappen: 'a host is reached that no rule allows',
  stoppedBy: 'the allow-list',
  refusal: 'host_not_allowed',
  steps: (scene) => [{ send: get(`http://${host(scene)}/`, host(scene)) }],
});

const rules: readonly EgressAttack[] = [
  toOther('asks for a host that is not allowed', ({ other }) => other),
  toOther('spells a host that is not allowed in another way', ({ other }) => `${other.toUpperCase()}.`),
  toOther('asks for what is above a wildcard', ({ wildcard }) => wildcard),
  toOther('asks for a name that ends like a wildcard', ({ wildcard }) => `not${wildcard}`),
  toOther('asks for a name that begins like an allowed one', ({ allowed, other }) => `${allowed}.${other}`),
  toOther('asks for a name below an allowed one that is no wildcard', ({ allowed }) => `x.${allowed}`),
  toOther('asks for localhost', () => 'localhost'),
  toOther('asks for the metadata service by its name', () => 'metadata.google.internal'),
  {
    name: 'asks for another port of an allowed host',
    mustNotHappen: 'a port is reached that no rule allows',
    stoppedBy: 'ports are 80 and 443, or the one of the rule',
    refusal: 'port_not_allowed',
    steps: ({ allowed }) => [{ send: get(`http://${allowed}:22/`, `${allowed}:22`) }],
  },
  {
    name: 'opens a tunnel to another port of an allowed host',
    mustNotHappen: 'a port is reached that no rule allows',
    stoppedBy: 'ports are 80 and 443, or the one of the rule',
    refusal: 'port_not_allowed',
    steps: ({ allowed }) => [{ send: connect(`${allowed}:25`) }],
  },
  {
    name: 'opens a tunnel without a port',
    mustNotHappen: 'a port is guessed',
    stoppedBy: 'CONNECT names a port',
    refusal: 'bad_request',
    steps: ({ allowed }) => [{ send: connect(allowed) }],
  },
  {
    name: 'follows a redirect to loopback',
    mustNotHappen,
    stoppedBy: 'redirects are passed on, and the next request is judged like any other',
    refusal: 'ip_address',
    steps: ({ allowed, earPort }) => [
      { send: get(`http://${allowed}/redirect?http://127.0.0.1:${earPort}/`, allowed) },
      { until: '302 Found' },
      { pauseMs: 100 },
      { send: get(`http://127.0.0.1:${earPort}/`, `127.0.0.1:${earPort}`) },
    ],
  },
];

/** The name is allowed; what it leads to is not. */
const byName = (what: string, answers: NonNullable<EgressAttack['names']>[string]): EgressAttack => ({
  name: `asks for an allowed name that leads to ${what}`,
  mustNotHappen,
  stoppedBy: 'every address that a name leads to is judged',
  refusal: 'private_address',
  names: { 'trap.wild.example': answers },
  steps: () => [{ send: get('http://trap.wild.example/', 'trap.wild.example') }],
});

const names: readonly EgressAttack[] = [
  byName('loopback', ['127.0.0.1']),
  byName('loopback in IPv6', ['::1']),
  byName('a public and a private address', ['93.184.216.34', '10.0.0.1']),
  byName('an IPv4-mapped address', ['::ffff:127.0.0.1']),
  byName('an address of NAT64', ['64:ff9b::7f00:1']),
  byName('an address of 6to4', ['2002:7f00:1::1']),
  byName('an address of Teredo', ['2001:0:7f00:1::1']),
  byName('a local address with a zone', ['fe80::1%lo']),
  byName('the metadata address', ['169.254.169.254']),
  byName('the metadata address of Azure', ['168.63.129.16']),
  byName('this host', ['0.0.0.0']),
  byName('a carrier network', ['100.100.100.200']),
  {
    name: 'asks for a name that leads elsewhere when it is looked up again (DNS rebinding)',
    mustNotHappen,
    stoppedBy: 'a name is looked up once, and the judged address is the one that is connected to',
    refusal: null,
    names: { 'trap.wild.example': [['93.184.216.34'], ['127.0.0.1']] },
    steps: () => [{ send: get('http://trap.wild.example/', 'trap.wild.example', 'Connection: close\r\n') }],
  },
  {
    name: 'asks twice for such a name, in one connection',
    mustNotHappen,
    stoppedBy: 'each request is looked up and judged anew',
    refusal: 'private_address',
    names: { 'trap.wild.example': [['93.184.216.34'], ['127.0.0.1']] },
    steps: () => [
      { send: get('http://trap.wild.example/', 'trap.wild.example') },
      { until: 'hello' },
      { pauseMs: 100 },
      { send: get('http://trap.wild.example/', 'trap.wild.example') },
    ],
  },
  {
    name: 'opens a tunnel to a name that leads to loopback',
    mustNotHappen,
    stoppedBy: 'every address that a name leads to is judged',
    refusal: 'private_address',
    names: { 'trap.wild.example': ['127.0.0.1'] },
    steps: () => [{ send: connect('trap.wild.example:443') }],
  },
];

export const hostAttacks: readonly EgressAttack[] = [...addresses, ...forms, ...rules, ...names];
