import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { backends, upload } from '../../server.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { metadata, startCrateServer, type CrateServer } from './crates.testing.ts';

const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(50)]);

const crates = {
  'glaciers/ro-crate-metadata.json': metadata('Glaciers of Jotunheimen', { description: 'Lengths by year' }),
  'glaciers/data/a table.csv': 'year,metres\n2020,1200\n',
  'glaciers/data/photo.png': png,
  'glaciers/data/raw.bin': Buffer.from([0, 1, 2, 3]),
  'lakes/ro-crate-metadata.json': metadata('Lakes of Oppland'),
};

type Content = { uri: string; mimeType: string; text?: string; blob?: string };

describe(`resources, on ${backends}`, () => {
  let server: CrateServer;
  before(async () => {
    server = await startCrateServer(crates);
    await server.call('sync_index', {});
  });
  after(() => server?.[Symbol.asyncDispose]());

  const read = async (uri: string): Promise<Content> => {
    const { contents } = await server.client.readResource({ uri });
    assert.equal(contents.length, 1);
    return contents[0] as Content;
  };
  const complete = async (uri: string, name: string, value: string, known: Record<string, string> = {}) => {
    const context = { arguments: known };
    const ref = { type: 'ref/resource', uri } as const;
    return (await server.client.complete({ ref, argument: { name, value }, context })).completion.values;
  };

  it('crates are listed and described, and their small files are read', async () => {
    const { resources } = await server.client.listResources();
    const listed = resources.filter(({ uri }) => uri.startsWith('workcrate://crates/'));
    assert.deepEqual(listed.map(({ name }) => name).toSorted(), [
      'Glaciers of Jotunheimen',
      'Lakes of Oppland',
    ]);
    const { uri } = listed.find(({ name }) => name.startsWith('Glaciers'))!;
    const id = uri.slice('workcrate://crates/'.length);
    const described = await read(uri);
    assert.match(described.text!, /Glaciers of Jotunheimen/);

    const table = await read(`${uri}/data/a%20table.csv`);
    assert.deepEqual([table.mimeType, table.text], ['text/csv', 'year,metres\n2020,1200\n']);
    assert.equal((await read(`${uri}/data/photo.png`)).blob, png.toString('base64'));
    assert.match(
      (await read(`${uri}/data/raw.bin`)).text!,
      /^data\/raw\.bin, 4 bytes, .* not shown .*read_crate_file/,
    );
    for (const path of ['data/none.csv', '../lakes/ro-crate-metadata.json', 'data/..%2f..%2fx', '%00'])
      await assert.rejects(read(`${uri}/${path}`), { code: -32_602 }, path);

    const crateFile = 'workcrate://crates/{crate_id}/{+path}';
    assert.deepEqual(await complete(crateFile, 'crate_id', 'glac*'), [id]);
    assert.deepEqual(await complete('workcrate://crates/{crate_id}', 'crate_id', id.slice(0, -1)), [id]);
    assert.deepEqual(await complete(crateFile, 'path', 'data/A', { crate_id: id }), ['data/a table.csv']);
    assert.deepEqual(await complete(crateFile, 'path', 'data/'), []);
    recordProof('G3:crates-as-resources');
  });

  it('small texts and pictures are shown, and of the rest only words with the next step', async () => {
    const large = await upload(server, 'large.csv', 'x'.repeat(64 * 1024 + 1));
    const picture = await upload(server, 'plot.png', png);
    const archive = await upload(server, 'data.zip', Buffer.from('PK\x03\x04\0\0', 'latin1'));
    assert.equal((await read(`workcrate://files/${picture}`)).blob, png.toString('base64'));
    for (const id of [large, archive]) {
      const { mimeType, text, blob } = await read(`workcrate://files/${id}`);
      assert.deepEqual([mimeType, blob], ['text/plain', undefined]);
      assert.match(text!, new RegExp(`not shown here: .*For a link, call share_file with file_id ${id}\\.$`));
    }
    recordProof('G3:few-bytes-into-a-conversation');
  });

  it('the list is newest first, in pages, and a file that is deleted is gone from it', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 30; count++) ids.push(await upload(server, `${count}.txt`, 'x'));
    const first = await server.client.request({ method: 'resources/list', params: {} });
    const isFile = ({ uri }: { uri: string }): boolean => uri.startsWith('workcrate://files/');
    const listed = first.resources.filter(isFile).map(({ uri }) => uri);
    assert.deepEqual(
      listed,
      ids
        .toReversed()
        .slice(0, 25)
        .map((id) => `workcrate://files/${id}`),
    );
    const { nextCursor: cursor } = first;
    assert.ok(cursor !== undefined);
    const second = await server.client.request({ method: 'resources/list', params: { cursor } });
    assert.equal(second.resources.find(isFile)!.uri, `workcrate://files/${ids[4]}`);
    await assert.rejects(server.client.request({ method: 'resources/list', params: { cursor: 'x' } }), {
      code: -32_602,
      message: /list again without a cursor/,
    });

    await server.call('delete_file', { file_id: ids[0]! });
    await assert.rejects(read(`workcrate://files/${ids[0]}`), {
      code: -32_602,
      message: /No file of yours has this id/,
    });
    recordProof('G3:newest-first-in-pages');
  });
});
