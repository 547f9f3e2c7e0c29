import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { isQuick } from '../../scripts/quick-tests.ts';
import { commandsOfOtherBackends, findNeeds, starters } from '../../scripts/test-needs.ts';

const every = globSync('{src,packages,test,examples}/**/*.test.ts');
const chosen = (...words: string[]): string[] =>
  every.filter((file) => words.some((word) => file.includes(word)));

/** Tests of the project name commands without starting any. */
const isProductQuick = (file: string): boolean => file.startsWith('src/') && isQuick(file);

describe('what a subset of the tests needs', () => {
  it('all tests need all that the script can install', () => {
    const script = readFileSync('scripts/system-packages.sh', 'utf8');
    const listed = [...script.matchAll(/^(?:needed|handy|wanted|science)='([^']*)'/gm)].flatMap(([, pairs]) =>
      pairs!.split(/\s+/).map((pair) => pair.split(':')[0]!),
    );
    const { commands, ...others } = findNeeds(every);
    assert.deepEqual(commands.toSorted(), listed.toSorted());
    assert.ok(Object.values(others).every(Boolean), JSON.stringify(others));
    for (const command of commandsOfOtherBackends) assert.ok(listed.includes(command), command);
    for (const file of Object.values(starters)) assert.ok(existsSync(file), file);
  });

  it('links and paths need no server of others but PostgreSQL, and no sandbox', () => {
    const { commands, ...others } = findNeeds(chosen('links', 'paths'));
    const none = { ceph: false, azurite: false, docker: false, clients: false, sandbox: false };
    assert.deepEqual(others, { ...none, postgres: true });
    assert.deepEqual(
      // With `setpriv`, of util-linux, root tries what an ordinary user may do.
      commands.filter((command) => !['python3', 'setpriv'].includes(command)),
      [],
    );
  });

  it('quick tests need no server and no container', () => {
    const { commands, ...servers } = findNeeds(every.filter(isProductQuick));
    assert.deepEqual(Object.values(servers).filter(Boolean), []);
    const daemons = new Set([
      'dockerd',
      'ceph-mon',
      'ceph-osd',
      'radosgw',
      'pg_ctlcluster',
      'nginx',
      'prometheus',
    ]);
    assert.deepEqual(
      commands.filter((command) => daemons.has(command)),
      [],
    );
  });

  for (const [word, command] of [
    ['src/ports/sandbox/docker/docker.test', 'dockerd'],
    ['src/ports/storage/s3/s3.test', 'radosgw'],
    ['src/ports/sandbox/bubblewrap/bubblewrap.test', 'bwrap'],
    ['test/packaging/nginx.test', 'nginx'],
    ['test/behaviour/observability/alerts.test', 'prometheus'],
    ['test/properties/faults/injected.test', 'strace'],
    ['src/ports/sandbox/bubblewrap/preload.test', 'matplotlib'],
    ['test/packaging/restore.test', 'pg_ctlcluster'],
  ] as const)
    it(`${word} needs ${command}`, () => {
      assert.ok(findNeeds(chosen(word)).commands.includes(command));
    });
});
