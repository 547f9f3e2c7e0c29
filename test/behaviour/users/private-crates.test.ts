import assert from 'node:assert/strict';
import { it } from 'node:test';
import { send, startTeam, type Member } from './team.testing.ts';

async function pack(member: Member, title: string, shared = false): Promise<Record<string, string>> {
  const file = await send(member, 'table.csv', title);
  const reply = await member.call('pack_crate', { file_ids: [file], title, shared });
  assert.equal(reply.failed, false, reply.text);
  return reply.data;
}

it('a crate that only its owner may see is found by meaning by its owner alone', async () => {
  await using team = await startTeam({ crateInterval: 0 });
  const [ada, bob] = [await team.join('ada1'), await team.join('bob1')];
  await pack(ada, 'Glaciers of Norway');
  await ada.call('sync_index');
  for (const mode of ['semantic', 'hybrid']) {
    const countFound = async (member: Member): Promise<unknown> =>
      (await member.call('search_index', { query: 'glaciers', mode })).data.total;
    assert.deepEqual([await countFound(ada), await countFound(bob)], [1, 0], mode);
  }
});

it('users see neither the path of a crate on the server nor an id that means nothing', async () => {
  await using team = await startTeam({ crateInterval: 0, tools: ['default', 'validation'] });
  const ada = await team.join('ada1');
  const packed = await pack(ada, 'Glaciers of Norway', true);
  const crate_id = packed['crate_id'];
  const found = await ada.call('search_index', { query: 'glaciers', mode: 'keyword' });
  assert.deepEqual(found.data.facets.license, [{ value: 'No licence stated', count: 1 }]);
  const answers = [
    found,
    { data: packed, text: '' },
    await ada.call('get_crate', { crate_id }),
    await ada.call('list_crate_files', { crate_id }),
    await ada.call('download_crate', { crate_id }),
    await ada.call('download_crate', { crate_id, delivery: 'base64' }),
    await ada.call('validate_crate', { crate_id }),
    await ada.call('search_by_entity', { type_name: 'File', prop_path: 'name', prop_value: 'table.csv' }),
    await ada.call('sync_index'),
    await ada.call('index_status'),
    await ada.call('list_searchable_fields'),
  ];
  for (const { data, text } of answers) {
    assert.equal(JSON.stringify(data).includes(team.config.data), false, text);
    assert.equal(text.includes(team.config.data), false, text);
  }
  assert.match(packed['resource_locator']!, /^crates\/shared\/[^/]+\.zip$/);
  assert.match(found.data.results[0].description, /^table\.csv, packed as kept\./);
});
