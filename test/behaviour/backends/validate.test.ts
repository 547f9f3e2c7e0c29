import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { archive } from '../../../src/platform/zip/unzip-archive.testing.ts';
import { metadata, startCrateServer, type CrateServer } from './crates.testing.ts';

const good = { description: 'All of it.', license: 'Ask.' };
const part = { hasPart: [{ '@id': 'lengths.csv' }, { '@id': 'lost.csv' }] };
const files = ['lengths.csv', 'lost.csv'].map((id) => ({ '@id': id, '@type': 'File', name: id }));
const damaged = archive([
  {
    name: 'ro-crate-metadata.json',
    bytes: Buffer.from(metadata('In an archive', { ...good, ...part }, files)),
  },
  { name: 'lengths.csv', bytes: Buffer.from('1') },
]);

describe('validate_crate', () => {
  let server: CrateServer;
  before(async () => {
    server = await startCrateServer(
      {
        'good/ro-crate-metadata.json': metadata(
          'In a folder',
          { ...good, hasPart: part.hasPart[0] },
          files.slice(0, 1),
        ),
        'good/lengths.csv': '1',
        'zipped.zip': damaged,
        'seas-ro-crate-metadata.json': metadata('Without files', { ...good, ...part }, files),
      },
      { tools: ['crates', 'validation'] },
    );
    await server.call('sync_index', {});
  });
  after(() => server?.[Symbol.asyncDispose]());
  const validate = async (query: string, more: object = {}) => {
    const { results } = (await server.call('search_index', { query: `"${query}"`, mode: 'keyword' })).data;
    return server.call('validate_crate', { crate_id: results[0].crate_id, ...more });
  };

  it('says that a crate is valid, and what it should have besides', async () => {
    const { data, text } = await validate('in a folder');
    assert.deepEqual(
      [data.valid, data.checked_as, data.must, data.attached],
      [true, ['RO-Crate 1.1'], 0, true],
    );
    assert.match(
      text,
      /^crate_[0-9a-f]{24}: Valid as RO-Crate 1\.1 \(with its files\): 0 MUST and \d+ SHOULD/,
    );
    assert.match(text, /^SHOULD root-publisher \(RO-Crate\): .* What to do: Add publisher/m);
  });

  it('names the entity, the rule, its level and what to do, of files in an archive too', async () => {
    const { data } = await validate('in an archive');
    assert.deepEqual([data.valid, data.must], [false, 1]);
    const { text: _, remedy, ...finding } = data.findings[0];
    assert.deepEqual(finding, {
      rule: 'file-present',
      level: 'MUST',
      profile: 'RO-Crate',
      total: 1,
      count: 1,
      entities: [{ entity: 'lost.csv', detail: null }],
    });
    assert.match(remedy, /^Add the file/);
  });

  it('judges by a version or profile that the call names', async () => {
    const { data } = await validate('without files', { profile: 'ro-crate-1.2' });
    assert.deepEqual(data.checked_as, ['RO-Crate 1.2']);
    const rules = data.findings.filter((one: { level: string }) => one.level === 'MUST');
    assert.deepEqual(
      rules.map((one: { rule: string }) => one.rule),
      ['context-address', 'data-detached'],
    );
    assert.deepEqual((await validate('in a folder', { profile: 'process-run-crate' })).data.checked_as, [
      'RO-Crate 1.1',
      'Process Run Crate',
    ]);
  });

  it('refuses what it does not know, and a crate that has changed', async () => {
    assert.match((await validate('in a folder', { profile: 'none' })).text, /profile/);
    assert.equal(
      (await server.call('validate_crate', { crate_id: `crate_${'0'.repeat(24)}` })).code,
      'not_found',
    );
    await server.remove('zipped.zip');
    assert.equal((await validate('in an archive')).code, 'crate_gone');
  });
});
