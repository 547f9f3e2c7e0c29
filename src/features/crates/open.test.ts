import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig, type ServerConfig as Config } from '../../server/settings.ts';
import { openCrateSources } from './open.ts';
import { findLocalPacks } from './pack-target.ts';

async function folders() {
  const path = await mkdtemp(join(tmpdir(), 'workcrate-crating-'));
  for (const name of ['data/crates', 'public', 'public/part'])
    await mkdir(join(path, name), { recursive: true });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const opening = (path: string, ...crateSources: string[]) =>
  openCrateSources({ ...loadConfig({ data: join(path, 'data') }, {}).config, crateSources });

test('packed crates go to a folder that is a source too, unless told otherwise', async () => {
  await using folder = await folders();
  await using sources = await opening(folder.path, join(folder.path, 'public'));
  assert.deepEqual(
    sources.all.map(({ url }) => url.slice(url.indexOf(folder.path) + folder.path.length)),
    ['/public/', '/data/crates/'],
  );
  assert.equal(sources.find('s3://bucket/'), null);
});

test('a source within another is refused, by whatever name it is reached', async () => {
  await using folder = await folders();
  const at = (name: string): string => join(folder.path, name);
  await symlink(at('data/crates'), at('link'));
  await symlink(at('data'), at('above'));
  for (const named of [
    ['public', 'public/part'],
    ['public', 'public'],
    ['data/crates'],
    ['data'],
    ['link'],
    ['above'],
    ['above/crates'],
  ])
    await assert.rejects(opening(folder.path, ...named.map(at)), {
      code: 'config_invalid',
      message: /is inside/,
    });
});

const s3 = {
  storage: 's3',
  s3Bucket: 'team',
  s3AccessKeyId: 'key',
  s3SecretAccessKey: 'secret',
} as const;

/** The URLs of the sources, where packed crates go last, and what is told of crates that only this server finds. */
async function sourcesWith(path: string, settings: Partial<Config>) {
  const config = { ...loadConfig({ data: join(path, 'data') }, {}).config, ...settings };
  await using sources = await openCrateSources(config);
  return {
    urls: sources.all.map(({ url }) => url.replace(path, '')),
    packs: sources.packs.url.replace(path, ''),
    owners: sources.named.map(({ packsOf }) => packsOf),
    told: findLocalPacks(config).map(({ what, remedy }) => `${what} ${remedy}`.replaceAll(path, '')),
  };
}

test('with a store that servers share, packed crates go to it, beside the files and below their prefix', async () => {
  await using folder = await folders();
  const [bare, prefixed] = [s3, { ...s3, s3Prefix: '/work/crate/' }];
  assert.equal((await sourcesWith(folder.path, bare)).packs, 's3://team/crates/');
  assert.equal((await sourcesWith(folder.path, prefixed)).packs, 's3://team/work/crate/crates/');
  const azure = { azureContainer: 'team', azureAccount: 'a', azureKey: 'a2V5', azurePrefix: 'x' };
  const onAzure = await sourcesWith(folder.path, { storage: 'azure', ...azure });
  assert.equal(onAzure.packs, 'azure://team/x/crates/');
  const named = await sourcesWith(folder.path, { ...s3, packTo: 's3://other/packs' });
  assert.equal(named.packs, 's3://other/packs/');
  for (const { urls, told } of [onAzure, named]) assert.deepEqual([urls.length, told], [1, []]);
});

test('the folder of this server stays a source as long as crates are in it, and what to do is told', async () => {
  await using folder = await folders();
  const own = join(folder.path, 'data/crates');
  await mkdir(join(own, 'users/ada'), { recursive: true });
  const shared = { ...s3, auth: ['keys'] } as const;
  assert.deepEqual((await sourcesWith(folder.path, shared)).urls, ['s3://team/crates/'], 'only folders');
  await writeFile(join(own, 'users/ada/melt.zip'), 'zip');
  const { urls, owners, told } = await sourcesWith(folder.path, shared);
  assert.deepEqual(urls, ['file:///data/crates/', 's3://team/crates/']);
  assert.deepEqual(owners, ['several', 'several'], 'what is private stays so');
  assert.match(
    told.join(),
    /^crates that were packed earlier are in \/data\/crates,.*move.* to s3:\/\/team\/crates\/ /,
  );
});

test('the folder of this server is no second source where the settings name it, or what it is in', async () => {
  await using folder = await folders();
  await writeFile(join(folder.path, 'data/crates/melt.zip'), 'zip');
  for (const source of ['data/crates', 'data']) {
    const crateSources = [join(folder.path, source)];
    const { urls, told } = await sourcesWith(folder.path, { ...s3, crateSources });
    assert.deepEqual([urls, told], [[`file:///${source}/`, 's3://team/crates/'], []]);
  }
  const packTo = join(folder.path, 'data/crates');
  assert.deepEqual((await sourcesWith(folder.path, { ...s3, packTo })).urls, ['file:///data/crates/']);
});

test('a source that has packed crates inside is refused also where they go there by default', async () => {
  await using folder = await folders();
  for (const source of ['s3://team', 's3://team/crates', 's3://team/crates/mine'])
    await assert.rejects(sourcesWith(folder.path, { ...s3, crateSources: [source] }), {
      code: 'config_invalid',
      message: /is inside.*--pack-to/,
    });
});

test('that packed crates stay on one server is told where others may share its database, and else not', async () => {
  await using folder = await folders();
  const database = 'postgres://localhost/team';
  const { told } = await sourcesWith(folder.path, { database });
  assert.match(told.join(), /stay on this server, in \/data\/crates.*--pack-to/);
  const packTo = join(folder.path, 'public');
  for (const settings of [{}, { database, packTo }, { database, ...s3 }])
    assert.deepEqual((await sourcesWith(folder.path, settings)).told, []);
});
