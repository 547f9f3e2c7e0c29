import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../errors.ts';
import {
  describeAllowed,
  findHostFault,
  formatHostRules,
  narrowRules,
  parseHostRules,
} from './host-rules.ts';

const allows = (text: string, host: string, port = 443): boolean =>
  findHostFault(parseHostRules(text), host, port) === null;

it('a name allows itself on the ports of HTTP, and a port in place of those', () => {
  const rules = parseHostRules('example.org, api.example.org:8443');
  for (const port of [80, 443]) assert.equal(findHostFault(rules, 'example.org', port), null);
  assert.equal(findHostFault(rules, 'example.org', 8443), 'port');
  assert.equal(findHostFault(rules, 'api.example.org', 8443), null);
  assert.equal(findHostFault(rules, 'api.example.org', 443), 'port');
  assert.equal(findHostFault(rules, 'www.example.org', 443), 'host');
  assert.equal(findHostFault([], 'example.org', 443), 'host');
});

it('a star is for all names below, and for nothing that only looks like one', () => {
  for (const host of ['a.example.com', 'a.b.example.com']) assert.ok(allows('*.example.com', host), host);
  const others =
    'example.com a.b.notexample.com notexample.com a.example.com.evil.org example.com.evil.org com';
  for (const host of others.split(' ')) assert.ok(!allows('*.example.com', host), host);
});

it('case, a dot at the end and other scripts have one spelling', () => {
  assert.equal(
    formatHostRules(parseHostRules('EXAMPLE.org.,*.Bücher.example')),
    'example.org,*.xn--bcher-kva.example',
  );
  assert.equal(formatHostRules(parseHostRules('[2620:FE:0::fe]:8443,9.9.9.9')), '[2620:fe::fe]:8443,9.9.9.9');
});

it('nonsense is refused in words that say what is wrong', () => {
  const cases: [string, RegExp][] = [
    ['', /empty/],
    ['example.org,', /empty/],
    ['*', /star alone/],
    ['https://example.org', /scheme/],
    ['example.org/path', /path/],
    ['exa mple.org', /space/],
    ['user@example.org', /user name/],
    ['a.*.example.org', /star/],
    ['*example.org', /star/],
    ['*.com', /too wide/],
    ['*.', /after \*\./],
    ['*.10.0.0.1', /after \*\./],
    ['example..org', /not a host/],
    ['-example.org', /not a host/],
    ['example.org:0', /port/],
    ['example.org:65536', /port/],
    ['example.org:', /port/],
    ['example.org:8o', /port/],
    ['a:b:c', /port/],
    ['2130706433', /not a host/],
    ['0x7f.1', /not a host/],
    ['127.1', /not a host/],
    ['１２７.0.0.1', /not a host/],
    ['127.0.0.1', /private/],
    ['10.1.2.3', /private/],
    ['[::1]', /private/],
    ['[::ffff:8.8.8.8]', /private/],
    ['[fe80::1%eth0]', /not a host/],
    ['2620:fe::fe', /port|not a host/],
    ['x'.repeat(400), /too long/],
  ];
  for (const [text, message] of cases)
    assert.throws(
      () => parseHostRules(text),
      (error) => isWorkcrateError(error, 'invalid_input') && message.test(error.message),
      text,
    );
  assert.throws(() => parseHostRules(Array.from({ length: 501 }, () => 'a.example')), /at most 500/);
});

it('a call can ask for less, and learns what is allowed where it asks for more', () => {
  const allowed = parseHostRules('*.example.com,example.org,api.example.org:8443');
  const narrow = (text: string): string => formatHostRules(narrowRules(allowed, parseHostRules(text)));
  assert.equal(narrow('a.example.com'), 'a.example.com');
  assert.equal(narrow('*.b.example.com:443'), '*.b.example.com:443');
  assert.equal(narrow('api.example.org'), 'api.example.org:8443');
  assert.equal(narrow('example.org:443'), 'example.org:443');
  for (const asked of ['example.com', 'other.org', 'example.org:22', '*.example.org', 'api.example.org:443'])
    assert.throws(
      () => narrow(asked),
      (error) =>
        isWorkcrateError(error, 'invalid_input') &&
        error.message.includes(asked) &&
        error.message.includes('*.example.com, example.org, api.example.org:8443'),
      asked,
    );
});

it('a long list is told in part', () => {
  const many = parseHostRules(Array.from({ length: 25 }, (_, at) => `h${at}.example`));
  assert.match(describeAllowed(many), /h19\.example and 5 more\.$/);
  assert.equal(describeAllowed([]), 'No host is allowed.');
});

const label = fc.stringMatching(/^[a-z][a-z0-9]{0,3}$/);
const name = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join('.'));
const port = fc.option(fc.constantFrom(80, 443, 8443), { nil: null });
const rule = fc.record({ host: name, isWildcard: fc.boolean(), port }, { noNullPrototype: true });
const fewNames = fc.constantFrom('a.b', 'x.a.b', 'y.x.a.b', 'xa.b', 'b.a', 'a.b.c');
const closeRule = fc.record({ host: fewNames, isWildcard: fc.boolean(), port }, { noNullPrototype: true });

it('what is written is read again as it was', () => {
  fc.assert(
    fc.property(fc.array(rule, { minLength: 1, maxLength: 5 }), (rules) => {
      assert.deepEqual(parseHostRules(formatHostRules(rules)), rules);
    }),
  );
});

it('a wildcard allows exactly the names that have more labels before its own', () => {
  fc.assert(
    fc.property(rule, fewNames, label, (rule, host, first) => {
      const wildcard = { ...rule, isWildcard: true, port: null };
      assert.equal(findHostFault([wildcard], `${first}.${wildcard.host}`, 443), null);
      assert.equal(findHostFault([wildcard], `${first}${wildcard.host}`, 443), 'host');
      assert.equal(findHostFault([wildcard], wildcard.host, 443), 'host');
      const labels = host.split('.').slice(-wildcard.host.split('.').length).join('.');
      const isBelow = labels === wildcard.host && host !== wildcard.host;
      assert.equal(findHostFault([wildcard], host, 443), isBelow ? null : 'host');
    }),
  );
});

it('whatever is asked for, a narrowed list allows nothing that the first one does not', () => {
  const lists = fc.array(closeRule, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(
      lists,
      lists,
      fewNames,
      label,
      fc.constantFrom(80, 443, 8443, 22),
      (allowed, asked, host, first, port) => {
        let narrowed;
        try {
          narrowed = narrowRules(allowed, asked);
        } catch (error) {
          assert.ok(isWorkcrateError(error, 'invalid_input'));
          return;
        }
        assert.ok(narrowed.length >= asked.length);
        for (const tried of [host, `${first}.${host}`]) {
          if (findHostFault(narrowed, tried, port) !== null) continue;
          assert.equal(findHostFault(allowed, tried, port), null, tried);
          assert.notEqual(findHostFault(asked, tried, port), 'host', tried);
        }
      },
    ),
    { numRuns: 1000 },
  );
});

it('no text makes it throw anything but a refusal', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.ipV4(), fc.ipV6(), fc.webAuthority()),
      (text) => {
        try {
          for (const { host } of parseHostRules(text)) assert.match(host, /^[a-z0-9._:[\]-]+$/);
        } catch (error) {
          assert.ok(isWorkcrateError(error, 'invalid_input'), String(error));
        }
      },
    ),
    { numRuns: 1000 },
  );
});
