import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { getAuditFolder } from '../../../src/core/audit/audit.ts';
import { searchAudit } from '../../../src/core/audit/tools.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import {
  startPythonIndex,
  type TestRegistry,
  type TestWheel,
} from '../../../src/features/packages/registries.testing.ts';
import { findMissingNpm, findMissingPip } from '../../../src/features/packages/room.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox, run } from '../../code.testing.ts';
import { startServer, type TestServer } from '../../server.testing.ts';
import { startVerdaccio, type Verdaccio } from './verdaccio.testing.ts';

const wheels: readonly TestWheel[] = [
  { name: 'alpha', version: '1.0' },
  { name: 'alpha', version: '2.0', requires: ['beta'] },
  { name: 'beta', version: '1.5' },
  { name: 'slow', version: '1.0', delayMs: 4000 },
];

/** Listing and removing packages are not in the default list. */
const withPackages = { sandbox: 'bubblewrap' as const, tools: ['default', 'packages'] };

describe('Python packages', { skip: noSandbox || findMissingPip() }, () => {
  let index: TestRegistry;
  let server: TestServer;
  before(async () => {
    index = await startPythonIndex(wheels);
    server = await startServer({ ...withPackages, pipIndexUrl: index.url });
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await index?.[Symbol.asyncDispose]();
  });
  const install = (names: string[]) => server.call('install_packages', { language: 'python', names });
  const look = 'import alpha, beta\nprint(alpha.version, beta.version)';

  it('are installed from the registry of the setting, and seen at once by runs and open sessions', async () => {
    const inSession = { language: 'python', session_id: 'work' };
    await server.call('execute_code', { ...inSession, code: 'kept = 41' });
    const missing = await server.call('execute_code', { language: 'python', code: look });
    assert.match(missing.text, /Install it: install_packages \{"language":"python","names":\["alpha"\]\}/);
    const { text, data } = await install(['alpha']);
    assert.match(text, /^Added for Python: alpha 2\.0, beta 1\.5\.\nDone in /, text);
    assert.deepEqual([data.state, data.changed, data.requested], ['done', true, ['alpha']]);
    assert.equal((await run(server, 'python', look)).stdout, '2.0 1.5\n');
    const cell = await server.call('execute_code', { ...inSession, code: `${look}\nprint(kept + 1)` });
    assert.equal(cell.data.stdout, '2.0 1.5\n42\n', cell.text);
    const listed = await server.call('list_packages', {});
    assert.match(
      listed.text,
      /^Python, from 127\.0\.0\.1, .*: asked for alpha; there are alpha 2\.0, beta 1\.5\./,
    );
    recordProof('D13:registry-setting', 'D13:seen-by-sessions-at-once', 'D13:seen-by-runs-at-once');
  });

  it('the install and its way out are in the audit log', async () => {
    const { lines } = await searchAudit(getAuditFolder(server.data), { limit: 1000 }, { key: null });
    const line = lines.find(({ operation }) => operation === 'install_packages');
    assert.deepEqual([line?.subject, line?.result], ['alpha', 'ok']);
    const network = lines.find(({ operation }) => operation === 'network');
    assert.equal(network?.details?.['hosts'], new URL(index.url).host);
    assert.equal(lines.filter(({ operation }) => operation === 'network').length, 1, 'runs have no network');
  });

  it('the same again asks nobody, and what is removed is gone', async () => {
    const asked = index.asked.length;
    const again = await install(['alpha']);
    assert.match(again.text, /^All of it was there already\./);
    assert.deepEqual([again.data.changed, index.asked.length], [false, asked]);
    await install(['beta']);
    const removed = await server.call('remove_packages', { language: 'python', names: ['alpha'] });
    assert.match(removed.text, /^No longer there for Python: alpha 2\.0\.\n/, removed.text);
    const other = await server.call('remove_packages', { language: 'python', names: ['numpy'] });
    assert.deepEqual([other.failed, other.code], [true, 'not_found']);
    assert.match(
      (await server.call('execute_code', { language: 'python', code: look })).text,
      /No module named/,
    );
  });

  it('a client that cannot wait is told so, and the same call again waits for the rest', async () => {
    await using hasty = await startServer({ ...withPackages, pipIndexUrl: index.url, detachAfter: 2 });
    const install = () => hasty.call('install_packages', { language: 'python', names: ['slow'] });
    const first = await install();
    assert.equal(first.data.state, 'running', first.text);
    assert.match(first.text, /still being installed after .* \(slow\).* make the same call again/);
    const listed = await hasty.call('list_packages', {});
    assert.match(listed.text, /Under way for Python since .*: slow\./);
    await eventually(async () => (await install()).data.state === 'done');
    assert.equal((await run(hasty, 'python', 'import slow; print(slow.version)')).stdout, '1.0\n');
  });

  it('names are never options, paths, URLs or shell, and nobody is asked about them', async () => {
    const asked = index.asked.length;
    const bad = [
      '--index-url=http://127.0.0.1:9/',
      '-r/etc/passwd',
      'alpha; touch /tmp/owned',
      'alpha beta',
      '$(id)',
      'älpha',
      'ａlpha',
      '../alpha',
      '/etc/passwd',
      './alpha',
      'file:///etc/passwd',
      'http://127.0.0.1:9/alpha.whl',
      'alpha@http://127.0.0.1:9/alpha.whl',
      'alpha @ http://127.0.0.1:9/alpha.whl',
      'git+https://example.org/x',
      'alpha;python_version>"3"',
      'alpha\n--pre',
      'alpha\0',
      '',
      'a'.repeat(301),
    ];
    for (const name of bad) {
      const reply = await install(['beta', name]);
      assert.deepEqual([reply.failed, reply.code], [true, 'invalid_input'], `${name}: ${reply.text}`);
    }
    const many = await install(Array.from({ length: 1000 }, (_, at) => `alpha${at}`));
    assert.match(many.text, /at most 100 packages/);
    assert.equal(index.asked.length, asked);
    assert.ok(!existsSync('/tmp/owned'));
    recordProof('D13:names-are-never-options-paths-or-urls');
  });
});

describe('what an operator sets for packages', { skip: noSandbox || findMissingPip() }, () => {
  it('a list of packages, with versions, is kept to', async () => {
    await using index = await startPythonIndex(wheels);
    const settings = { pipIndexUrl: index.url, packagesAllow: ['python:alpha==1.*', 'node:left-*'] };
    await using server = await startServer({ ...withPackages, ...settings });
    const refused = await server.call('install_packages', { language: 'python', names: ['beta'] });
    assert.deepEqual([refused.failed, refused.code], [true, 'package_refused']);
    assert.match(refused.text, /The operator allows: python:alpha==1\.\*\./);
    const { text } = await server.call('install_packages', { language: 'python', names: ['alpha'] });
    assert.match(text, /^Added for Python: alpha 1\.0\./, text);
    assert.match(
      (await server.call('list_packages', {})).text,
      /May be installed: python:alpha==1\.\*, node:left-\*/,
    );
    recordProof('D13:allow-list');
  });

  it('a registry that is down or fails is said to be, and nothing is changed', async () => {
    await using failing = await startPythonIndex(wheels, { failing: true });
    for (const pipIndexUrl of [failing.url, 'http://127.0.0.1:9/simple/']) {
      await using server = await startServer({ ...withPackages, pipIndexUrl });
      const { failed, code, text } = await server.call('install_packages', {
        language: 'python',
        names: ['alpha'],
      });
      assert.deepEqual([failed, code], [true, 'registry_unreachable'], text);
      assert.match(text, /What was installed before is as it was/);
    }
  });

  it('no packages at all: then there are no tools for it, and nobody is told of them', async () => {
    await using server = await startServer({ ...withPackages, packages: false });
    const { tools } = await server.client.listTools();
    assert.deepEqual(
      tools.filter(({ name }) => name.endsWith('_packages')),
      [],
    );
    assert.match(
      tools.find(({ name }) => name === 'execute_code')!.description!,
      /No network, so no pip or npm/,
    );
    const missing = await server.call('execute_code', { language: 'python', code: 'import no_such_thing' });
    assert.doesNotMatch(missing.text, /install_packages/);
  });
});

describe('Node packages, from a registry of verdaccio', { skip: noSandbox || findMissingNpm() }, () => {
  it('are installed without their scripts, and required by the next run', async (t) => {
    const started = await startVerdaccio();
    if ('reason' in started) return t.skip(started.reason);
    await using registry: Verdaccio = started;
    await registry.publish({ name: 'left', version: '1.2.0', dependencies: { right: '^2.0.0' } });
    const scripts = { postinstall: 'touch /workspace/ran' };
    await registry.publish({ name: 'right', version: '2.3.4', more: { scripts } });
    await using server = await startServer({ ...withPackages, npmRegistry: registry.url });
    const { text } = await server.call('install_packages', { language: 'node', names: ['left'] });
    assert.match(text, /^Added for Node: left 1\.2\.0, right 2\.3\.4\./, text);
    const code =
      'console.log(require("left").version, require("right").version, require("fs").existsSync("/workspace/ran"))';
    assert.equal((await run(server, 'node', code)).stdout, '1.2.0 2.3.4 false\n');
    const none = await server.call('install_packages', { language: 'node', names: ['nowhere-to-be-found'] });
    assert.deepEqual([none.failed, none.code], [true, 'package_not_found'], none.text);
    recordProof('D13:node-packages');
  });
});
