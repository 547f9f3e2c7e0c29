import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  BadValue,
  bytes,
  days,
  trueOrFalse,
  integer,
  list,
  networks,
  choiceFrom,
  optionalBaseUrl,
  optionalUrl,
  seconds,
  requiredText,
  type SettingKind,
} from './kinds.ts';
import { settings } from './settings.ts';

function refuses(kind: SettingKind<unknown>, ...texts: string[]): void {
  for (const given of texts) assert.throws(() => kind.parse(given), BadValue, given);
}

it('a size is a number of bytes, with units of 1024', () => {
  const sizes = {
    '0': 0,
    '500': 500,
    '1k': 1024,
    '1KB': 1024,
    '2 MiB': 2 * 1024 ** 2,
    '10GB': 10 * 1024 ** 3,
  };
  for (const [given, size] of Object.entries(sizes)) assert.equal(bytes.parse(given), size, given);
  refuses(bytes, '', '-1', '1.5GB', '1e3', 'GB', '1 PB', '9007199254740992', '9999999999 tb', '1k\nb');
});

it('a whole number is digits alone, within its limits', () => {
  assert.equal(integer(0, 65_535).parse('065535'), 65_535);
  refuses(integer(1, 10), '0', '11', '', '+1', '-1', '1.0', '1e1', '0x1', '١', ' 1', '99999999999999999999');
});

it('a span of time is a plain number, or one with a unit', () => {
  const spans = {
    '90': 90,
    '090': 90,
    '90s': 90,
    '15m': 900,
    '12h': 43_200,
    '30d': 2_592_000,
    '1 w': 604_800,
  };
  for (const [given, value] of Object.entries(spans))
    assert.equal(seconds(1, 3650 * 86_400).parse(given), value, given);
  for (const [given, value] of Object.entries({ '30': 30, '30d': 30, '4w': 28, '48h': 2 }))
    assert.equal(days(1, 3650).parse(given), value, given);
  refuses(
    seconds(1, 3600),
    '0',
    '0s',
    '2h',
    '1d',
    '',
    'm',
    '1.5m',
    '-1m',
    '1M',
    '1y',
    '1m30s',
    '99999999999s',
  );
  refuses(days(1, 3650), '0d', '36h', '90s', '3651', '600w');
});

it('every setting of seconds or days takes a unit', () => {
  const spans = Object.entries(settings).filter(([, { help }]) => /\b(?:seconds|days)\b/.test(help));
  assert.ok(spans.length >= 16);
  for (const [name, { kind }] of spans)
    // A moment is no span.
    assert.equal(/or a time such as/.test(kind.takes), name !== 'documentEpoch', name);
});

it('true and false can be said in several ways', () => {
  for (const given of ['true', '1', 'yes', 'on']) assert.equal(trueOrFalse.parse(given), true, given);
  for (const given of ['false', '0', 'no', 'off']) assert.equal(trueOrFalse.parse(given), false, given);
  refuses(trueOrFalse, '', 'TRUE', 'maybe');
});

it('a choice is one of its words, and no property of an object', () => {
  assert.equal(choiceFrom('disk', 'memory').parse('disk'), 'disk');
  refuses(choiceFrom('disk', 'memory'), 'Disk', '', 'toString');
});

it('a list leaves out what is empty', () => {
  assert.deepEqual(list.parse(' a, ,b,'), ['a', 'b']);
  assert.deepEqual(list.parse(''), []);
});

it('proxies are addresses or networks, and no names', () => {
  assert.deepEqual(networks.parse('127.0.0.1, ::1,10.0.0.0/8'), ['127.0.0.1', '::1', '10.0.0.0/8']);
  refuses(networks, 'localhost', '10.0.0.0/33', '::1/129', '10.0.0', '10.0.0.0/', '/8', 'fe80::1%eth0');
});

it('text that must be there is not empty: an empty data folder would be wherever the program was started', () => {
  assert.equal(requiredText.parse('x'), 'x');
  refuses(requiredText, '');
});

it('a URL that is called keeps its slash and its query', () => {
  assert.equal(optionalUrl.parse('https://example.org/hook/?key=1'), 'https://example.org/hook/?key=1');
  assert.equal(optionalUrl.parse(''), null);
  refuses(
    optionalUrl,
    'example.org',
    'ftp://example.org',
    'http://',
    'http:example.org',
    'javascript:alert(1)',
  );
});

it('a URL that paths are put behind has neither a slash at its end, nor query, fragment or password', () => {
  assert.equal(optionalBaseUrl.parse('HTTPS://Example.org//'), 'https://example.org');
  assert.equal(optionalBaseUrl.parse('http://example.org:8080/crate/'), 'http://example.org:8080/crate');
  refuses(optionalBaseUrl, 'http://a/?b', 'http://a/#b', 'http://me:secret@a/', 'a', 'http://a b/');
});
