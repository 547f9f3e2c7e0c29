import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkNewUserName, checkUserName, isUserName, toUserName } from './names.ts';

const issuer = 'https://issuer.example';

test('names of users are plain, and none is a route, local or a derived one', () => {
  for (const name of ['ada', 'a', '0', 'ada.lovelace@example.org', 'ci+build_7', 'x'.repeat(64)])
    assert.equal(checkUserName(name), name);
  for (const name of [
    '',
    'Ada',
    '.well-known',
    '-a',
    'a/b',
    'a b',
    'ä',
    'x'.repeat(65),
    'local',
    'files',
    'mcp',
    '*',
    'a\n',
  ])
    assert.throws(() => checkUserName(name), { code: 'config_invalid' }, name);
  assert.throws(() => checkUserName(toUserName(issuer, 'Ada')), { code: 'config_invalid' });
});

test('nobody new is called as a page is, and who has such a name keeps it', () => {
  for (const name of ['runs', 'crates', 'sessions', 'library', 'ask']) {
    assert.throws(() => checkNewUserName(name), { code: 'config_invalid', message: /none of ask, connect/ });
    assert.equal(checkUserName(name), name);
    assert.equal(toUserName(issuer, name), name);
  }
  assert.equal(checkNewUserName('ada'), 'ada');
});

/** Anything, but often what is nearly a name, or looks like one that was derived. */
const claim = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._@+-]{0,10}$/),
  fc.stringMatching(/^oauth-[0-9a-f]{32}$/),
  fc.constantFrom('local', 'files', 'Local', 'ada', 'ADA', 'ada ', '7'),
  fc.integer(),
);

test('no two claims are one user, and the same claim is always the same', () => {
  fc.assert(
    fc.property(claim, claim, (one, other) => {
      assert.equal(toUserName(issuer, one), toUserName(issuer, one));
      assert.equal(toUserName(issuer, one) === toUserName(issuer, other), one === other);
    }),
    { numRuns: 2000 },
  );
});

test('a claim gives its own text or a name that nobody can choose', () => {
  fc.assert(
    fc.property(claim, (value) => {
      const name = toUserName(issuer, value);
      if (name === value) assert.ok(isUserName(name));
      else assert.ok(!isUserName(name) && /^oauth-[0-9a-f]{32}$/.test(name));
      // A name that was given to one is not taken from another who claims it.
      assert.notEqual(toUserName(issuer, toUserName(issuer, `${value} `)), toUserName(issuer, `${value} `));
    }),
  );
});

test('the same odd claim of another issuer is another user', () => {
  assert.notEqual(toUserName(issuer, 'A B'), toUserName('https://other.example', 'A B'));
});
