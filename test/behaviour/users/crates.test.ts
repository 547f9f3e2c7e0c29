import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { metadata } from '../backends/crates.testing.ts';
import { databases, send, startTeam, type Member, type Team } from './team.testing.ts';

const modes = ['keyword', 'semantic', 'hybrid'] as const;

/** A word of bob’s crate alone, and one that nobody has: no answer may tell which is which. */
const [bobs, nobodys] = ['zyxomma', 'quipoxa'] as const;
/** A tool, and what it is given. */
type Asked = [tool: string, input: Record<string, unknown>];

const madeUpId = `crate_${'0'.repeat(24)}`;

for (const { kind, url, skip } of databases)
  describe(`crates of two users, on ${kind}`, { skip }, () => {
    let team: Team;
    let bob: Member;
    let eve: Member;
    let crate: string;
    let broken: string;
    let toldBefore: unknown;
    const cleanup = new AsyncDisposableStack();
    before(async () => {
      const source = await mkdtemp(join(tmpdir(), 'workcrate-shared-'));
      cleanup.defer(() => rm(source, { recursive: true, force: true }));
      for (const name of ['Dragonflies of the rivers', 'Rivers and lakes', 'Lakes in winter'])
        await folderCrate(join(source, name), name);
      const crateSources = [pathToFileURL(source).href];
      const tools = ['default', 'validation'];
      team = cleanup.use(await startTeam({ database: await url(), crateSources, crateInterval: 0, tools }));
      [bob, eve] = [await team.join('bob1'), await team.join('eve1')];
      await pack(eve, 'Dragonflies that eve saw', 'seen at lakes');
      await sync(eve);
      toldBefore = await told();
      ({ crate, broken } = await packBobs());
    });
    after(() => cleanup.disposeAsync());

    async function packBobs() {
      const title = `Dragonflies of the genus ${bobs}`;
      const packed = await pack(bob, title, `rivers and lakes where ${bobs} fly`);
      assert.match(
        packed.resource_locator,
        /^crates\/users\/bob1\/[^/]+\.zip$/,
        'not the path on the server',
      );
      const folder = join(team.config.data, dirname(packed.resource_locator));
      await writeFile(join(folder, `${bobs}.zip`), 'no archive');
      await sync(bob);
      const { data } = await bob.call('index_status');
      assert.equal(data.broken, 1, 'bob is told of what is broken of his own');
      return { crate: packed.crate_id as string, broken: data.broken_crates[0].crate_id as string };
    }

    /** All that eve is told without naming anything of bob’s. */
    async function told(): Promise<unknown[]> {
      const asked: Asked[] = [
        ['sync_index', {}],
        ['index_status', {}],
        ['list_searchable_fields', {}],
        ['search_by_entity', { type_name: '*', prop_path: 'name', prop_value: 'dragon', exact: false }],
        ...modes.map((mode): Asked => ['search_index', { query: '', mode }]),
        ...modes.map((mode): Asked => ['search_index', { query: 'dragonflies rivers', mode }]),
      ];
      const answers: unknown[] = [];
      for (const [tool, input] of asked) answers.push(await plainly(eve, tool, input));
      return answers;
    }

    it('what bob packs for himself changes nothing of what eve is told: no count, facet, value or score', async () => {
      assert.deepEqual(await told(), toldBefore);
    });

    it('bob finds it in every mode, by its words, authors and entities', async () => {
      // By meaning alone a word has to be known from what is for all: hence two that are.
      for (const mode of modes)
        assert.ok((await idsOf(bob, { query: `${bobs} rivers lakes`, mode })).includes(crate), mode);
      const person = { type_name: 'Person', prop_path: 'name', prop_value: `Ada ${bobs}` };
      assert.equal((await bob.call('search_by_entity', person)).data.results[0].crate_id, crate);
    });

    const queries = [
      '{}',
      'genus {}',
      '{}*',
      '"rivers and lakes where {}"',
      'title:{}',
      'author:{}',
      'file:{}',
      'Person.name:"Ada {}"',
      'lakes -{}',
      'lakes -Person.name:"Ada {}"',
    ];
    for (const mode of modes)
      it(`in the mode ${mode} no query tells eve which words are in bob’s crate`, async () => {
        for (const query of queries) {
          const answers = [];
          for (const word of [bobs, nobodys])
            answers.push(
              await plainly(eve, 'search_index', { query: query.replaceAll('{}', word), mode }, word),
            );
          assert.deepEqual(answers[0], answers[1], query);
        }
      });

    it('no filter and no entity tells eve which values are in bob’s crate', async () => {
      const filters = ['license', 'keyword', 'author', 'title', 'source', 'profile'];
      const asked = (word: string): Asked[] => [
        ...filters.map((field): Asked => {
          const value = field === 'license' ? `https://example.org/${word}` : word;
          return ['search_index', { query: '', field_filters: { [field]: value } }];
        }),
        ...[
          { type_name: 'Person', prop_path: 'name', prop_value: `Ada ${word}` },
          { type_name: '*', prop_path: 'name', prop_value: word, exact: false },
          { type_name: 'Person', prop_path: 'affiliation.name', prop_value: `University of ${word}` },
          {
            type_name: 'Dataset',
            prop_path: 'name',
            prop_value: 'lakes',
            exact: false,
            entry_field: 'author',
            entry_value: word,
          },
        ].map((input): Asked => ['search_by_entity', input]),
      ];
      for (const [at, [tool, input]] of asked(bobs).entries()) {
        const real = await plainly(eve, tool, input, bobs);
        const madeUp = await plainly(eve, tool, asked(nobodys)[at]![1], nobodys);
        assert.deepEqual(real, madeUp, JSON.stringify(input));
      }
    });

    const inside = (crate_id: string): Asked[] => {
      const path = 'ro-crate-metadata.json';
      const run = { crate_files: [{ crate_id, path }] };
      return [
        ['get_crate', { crate_id }],
        ['list_crate_files', { crate_id }],
        ['list_crate_files', { crate_id, glob: '**' }],
        ['read_crate_file', { crate_id, path }],
        ['read_crate_file', { crate_id, path, delivery: 'link' }],
        ['download_crate', { crate_id }],
        ['download_crate', { crate_id, delivery: 'base64' }],
        ['validate_crate', { crate_id }],
        ['execute_code', { language: 'bash', code: 'ls', ...run }],
        ['execute_bash', { command: 'ls', ...run }],
      ];
    };

    it('the ids of bob’s crates, also of a broken one, are as unknown to eve as any', async () => {
      const reader = await team.join('reader', ['crates', 'validation']);
      for (const id of [crate, broken])
        for (const [at, [tool, input]] of inside(id).entries()) {
          const unknown = inside(madeUpId)[at]![1];
          const reply = await eve.call(tool, input);
          assert.equal(reply.code, 'not_found', `${tool}: ${reply.text}`);
          assert.deepEqual(await plainly(eve, tool, input, id), await plainly(eve, tool, unknown, madeUpId));
          const expected = tool.startsWith('execute') ? 'forbidden' : 'not_found';
          assert.equal((await reader.call(tool, input)).code, expected, tool);
        }
    });

    it('a key without the scope crates opens no crate, by no tool', async () => {
      const runner = await team.join('runner', ['code']);
      for (const id of [crate, madeUpId])
        for (const [tool, input] of inside(id))
          assert.equal((await runner.call(tool, input)).code, 'forbidden', tool);
      for (const tool of [
        'search_index',
        'search_by_entity',
        'list_searchable_fields',
        'pack_crate',
        'sync_index',
        'index_status',
      ])
        assert.equal((await runner.call(tool)).code, 'forbidden', tool);
    });

    it('what bob shares is found by eve in every mode, counted, listed and fetched', async () => {
      const word = 'petalura';
      const { crate_id } = await pack(bob, `Dragonflies of ${word}`, 'for all', true);
      await sync(bob);
      for (const mode of modes) assert.ok((await idsOf(eve, { query: word, mode })).includes(crate_id), mode);
      assert.equal((await eve.call('search_index', { query: word, mode: 'keyword' })).data.total, 1);
      assert.equal((await eve.call('index_status')).data.crates, 5);
      assert.equal((await eve.call('list_crate_files', { crate_id })).failed, false);
      const { downloadUrl } = (await eve.call('download_crate', { crate_id })).data;
      assert.equal((await fetch(downloadUrl)).status, 200);
    });
  });

async function folderCrate(folder: string, name: string): Promise<void> {
  await mkdir(folder);
  await writeFile(
    join(folder, 'ro-crate-metadata.json'),
    metadata(name, { description: `${name}, by hand` }),
  );
}

/** One stored file as a crate, whose every word that tells is in its title. */
async function pack(member: Member, title: string, description: string, shared = false) {
  const word = title.split(' ').at(-1)!;
  const reply = await member.call('pack_crate', {
    file_ids: [await send(member, `${word}.txt`, title)],
    title,
    description,
    keywords: [word],
    license: `https://example.org/${word}`,
    authors: [{ name: `Ada ${word}`, affiliation: `University of ${word}` }],
    shared,
  });
  assert.equal(reply.failed, false, reply.text);
  return reply.data;
}

async function idsOf(member: Member, input: Record<string, unknown>): Promise<string[]> {
  const { results } = (await member.call('search_index', input)).data;
  return results.map((found: { crate_id: string }) => found.crate_id);
}

async function sync(member: Member): Promise<void> {
  const { failed, text } = await member.call('sync_index');
  assert.equal(failed, false, text);
}

/** An answer without what differs between any two calls, and without the word that was asked about. */
async function plainly(
  member: Member,
  tool: string,
  input: Record<string, unknown>,
  word = '',
): Promise<unknown> {
  const { failed, code, text, data } = await member.call(tool, input);
  const answer = JSON.stringify([tool, input, failed, code, text, data ?? null]);
  const neutral = word === '' ? answer : answer.replaceAll(word, '<it>');
  return JSON.parse(neutral.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'));
}
