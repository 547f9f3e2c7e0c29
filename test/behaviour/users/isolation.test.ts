import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { belongingsOf, type Belongings, type Reference } from './belongings.testing.ts';
import { databases, startTeam, type Member, type Team } from './team.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

/** What a tool says of one of its arguments. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly items?: Schema;
  readonly properties?: Record<string, Schema>;
  readonly additionalProperties?: unknown;
  readonly required?: readonly string[];
  readonly minimum?: number;
}

type Arguments = Record<string, unknown>;

/** The same arguments twice: about what the other has, and about what nobody has. */
interface Twins {
  readonly real: Arguments;
  readonly madeUp: Arguments;
}

const sides = ['real', 'madeUp'] as const;

for (const { kind, url, skip } of databases)
  describe(`two users, on ${kind}`, { skip }, () => {
    let team: Team;
    let eve: Member;
    let own: Belongings;
    let others: Belongings;
    let untouched: unknown;
    before(async () => {
      team = await startTeam({ database: await url(), tools: ['default', 'scripts', 'validation'] });
      const bob = await team.join('bob1');
      eve = await team.join('eve1');
      own = await belongingsOf(team, eve);
      others = await belongingsOf(team, bob);
      untouched = await others.look();
    });
    after(() => team?.[Symbol.asyncDispose]());

    /** The answer to eve, with what differs between any two calls, and between the twins, taken out. */
    const neutral = (answer: string, references: readonly Reference[]): string => {
      const named = references.flatMap(({ real, madeUp }) => [real, madeUp]);
      const plain = named
        .toSorted((a, b) => b.length - a.length)
        .reduce((text, name) => text.replaceAll(name, '<it>'), answer);
      return (
        plain
          .replaceAll(/[A-Za-z0-9_-]{43}/g, '<token>')
          // Tools whose names are like one that does not exist.
          .replaceAll(/ Near it: [^.]*\./g, '<near>')
          .replaceAll(/(file|exec)_[0-9a-f]+/g, '<id>')
          .replaceAll(/"link_id\\*":\\*"[0-9a-f]{16}/g, '<link>')
          .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]*Z?/g, '<time>')
          .replaceAll(/"duration_ms\\*":\d+/g, '<ms>')
      );
    };

    const ask = async (tool: string, input: Arguments): Promise<string> => {
      const { text, data, failed, code } = await eve.call(tool, input);
      return JSON.stringify([failed, code, text, data ?? null]);
    };

    it('no tool, whatever it is given, tells eve of anything that is bob’s, or that it is there', async () => {
      const { tools: all } = await eve.client.listTools();
      // It tells of everybody, and so is for operators.
      assert.equal((await eve.call('search_audit', {})).code, 'forbidden');
      // What eve writes herself is kept, also a name that she has guessed; what it takes of others is asked for below.
      // These know nobody's things: they read what tools say of themselves, and each made-up name is near to others.
      const left = new Set(['search_audit', 'save_script', 'search_tools', 'call_tool']);
      const tools = all.filter(({ name }) => !left.has(name));
      assert.ok(tools.length >= 28);
      for (const { name, inputSchema } of tools) {
        const property = fc.asyncProperty(
          twinsOf(withoutContent(inputSchema as Schema), spokenTo(name, others.references)),
          async (twins) => {
            const answers = { real: '', madeUp: '' };
            for (const side of sides) answers[side] = await ask(name, twins[side]);
            if (!JSON.stringify(twins.real).includes(others.mark))
              assert.ok(!answers.real.includes(others.mark), `${name} gave away ${answers.real}`);
            assert.equal(
              neutral(answers.real, others.references),
              neutral(answers.madeUp, others.references),
            );
          },
        );
        // What the tools do with what they are given is the same on both.
        const many = kind === 'sqlite' ? 25 : 6;
        const numRuns = Object.keys(inputSchema.properties ?? {}).length === 0 ? 1 : many;
        await fc.assert(property, { numRuns, endOnFailure: true });
      }
      assert.deepEqual(await others.look(), untouched);
      recordProof('A10:no-byte-by-guess');
    });

    it('each thing of bob’s is refused by the tool that it is for', async () => {
      const real = (what: string): string => others.references.find((each) => each.what === what)!.real;
      const asked: [string, Arguments][] = [
        ['share_file', { file_id: real('file') }],
        ['bundle_files', { file_ids: [real('file')] }],
        ['delete_file', { file_id: real('file') }],
        ['link_status', { token: real('token of a link') }],
        ['link_status', { link_id: real('id of a link') }],
        ['revoke_link', { token: real('URL of a link') }],
        ['revoke_link', { token: real('token of a bundle') }],
        ['get_execution', { execution_id: real('execution') }],
        ['get_artifact', { name: real('artifact'), delivery: 'base64' }],
        ['call_tool', { name: 'get_execution', arguments: { execution_id: real('execution') } }],
        ['call_tool', { name: 'share_file', arguments: { file_id: real('file') } }],
        ['get_crate', { crate_id: real('crate') }],
        ['list_crate_files', { crate_id: real('crate') }],
        ['read_crate_file', { crate_id: real('crate'), path: 'ro-crate-metadata.json' }],
        ['read_crate_file', { crate_id: real('crate'), path: 'ro-crate-metadata.json', delivery: 'link' }],
        ['download_crate', { crate_id: real('crate') }],
        ['download_crate', { crate_id: real('crate'), delivery: 'base64' }],
        ['validate_crate', { crate_id: real('crate') }],
        ['pack_crate', { execution_id: real('execution') }],
        ['pack_crate', { file_ids: [real('file')] }],
        ['build_exports_content', { documentFile: real('file'), formats: ['plain'] }],
        ['build_exports_content', { documentFile: real('artifact'), formats: ['plain'] }],
        ['build_exports_content', { documentContent: `![x](${real('artifact')})`, formats: ['plain'] }],
        ['validate_citations', { documentContent: 'x', bibliographyFile: real('file') }],
        ['get_script', { name: real('script') }],
        ['get_script', { name: real('version of a script') }],
        ['run_script', { name: real('script') }],
        ['delete_script', { name: real('script') }],
        ['delete_script', { name: real('version of a script') }],
        ['save_script', { name: 'mine', description: 'x', source_execution_id: real('execution') }],
      ];
      for (const [tool, input] of asked) assert.equal((await eve.call(tool, input)).failed, true, tool);
      assert.deepEqual(await others.look(), untouched);
      recordProof('A10:no-byte-by-name', 'D12:scripts-of-others-are-unknown');
    });

    it('lists hold what is eve’s alone', async () => {
      const lists = ['list_files', 'list_artifacts', 'search_executions', 'search_index'];
      for (const tool of [...lists, 'list_scripts', 'search_scripts']) {
        const answer = await ask(tool, tool === 'search_index' ? { query: '' } : {});
        assert.ok(answer.includes(own.mark) && !answer.includes(others.mark), answer);
      }
      assert.deepEqual((await eve.call('search_executions', { text: others.mark })).data.executions, []);
      assert.deepEqual((await eve.call('search_scripts', { text: others.mark })).data.scripts, []);
    });

    it('no route tells eve of anything that is bob’s, or that it is there', async () => {
      const routes = [
        '/executions/{}',
        '/executions?text={}',
        '/executions?after={}',
        '/{}/artifacts',
        '/{}/artifacts/x',
        '/eve1/artifacts/{}',
        '/bob1/artifacts/{}',
        '/{}',
        '/mcp/{}',
        '/status/{}',
        '/files/{}/x',
        '/uploads/{}/x',
      ];
      // A token is the right itself, whoever holds it; all else opens nothing.
      const opening = /token|URL/;
      for (const route of [...routes, '/files/{}', '/uploads/{}'])
        for (const reference of others.references)
          for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH', 'POST']) {
            if (opening.test(reference.what) && /^\/(files|uploads)\/{}$/.test(route)) continue;
            const answers = { real: '', madeUp: '' };
            for (const side of sides) {
              const answer = await eve.fetch(route.replace('{}', encodeURIComponent(reference[side])), {
                method,
              });
              answers[side] = `${answer.status} ${await answer.text()}`;
            }
            const where = `${method} ${route} ${reference.what}`;
            assert.equal(neutral(answers.real, [reference]), neutral(answers.madeUp, [reference]), where);
            assert.ok(!answers.real.replaceAll(reference.real, '').includes(others.mark), where);
          }
      assert.deepEqual(await others.look(), untouched);
      recordProof('A10:no-byte-by-guess');
    });
  });

/** Content that a caller brings along names nothing that is somebody's, and what is wrong with it is told by its letters; so does an encoding. */
function withoutContent({ properties = {}, ...rest }: Schema): Schema {
  const names = Object.entries(properties).filter(([name]) => !/content$|^encoding$/i.test(name));
  return { ...rest, properties: Object.fromEntries(names) };
}

/**
 * A random token may hold a letter or number by itself, which is a word of many crates; and a list of names goes on
 * after any word, so two random ones give two pages of eve's own.
 */
const spokenTo = (tool: string, pool: readonly Reference[]): readonly Reference[] =>
  /^(search_(index|by_entity|scripts)|list_(artifacts|scripts))$/.test(tool)
    ? pool.filter(({ what }) => !/token|URL/.test(what))
    : pool;

/** Arguments that fit what a tool says it takes, made of what the other has. */
function twinsOf(schema: Schema, pool: readonly Reference[]): fc.Arbitrary<Twins> {
  return recordOf(schema, pool).map((chosen) => ({
    real: side(chosen, 'real') as Arguments,
    madeUp: side(chosen, 'madeUp') as Arguments,
  }));
}

type Value = Reference | Value[] | string | number | boolean | { readonly given: Record<string, Value> };

function recordOf(
  { properties = {}, required = [] }: Schema,
  pool: readonly Reference[],
): fc.Arbitrary<Value> {
  const values = Object.entries(properties).map(([name, schema]) => [name, valueOf(schema, pool)] as const);
  return fc
    .record(Object.fromEntries(values), { requiredKeys: [...required] })
    .map((given) => ({ given: given as Record<string, Value> }));
}

/** Names of what a map of text to text may hold. */
const fields = ['title', 'author', 'keywords', 'license', 'source', 'type', 'year', 'nothing'];

function valueOf(schema: Schema, pool: readonly Reference[]): fc.Arbitrary<Value> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer' || schema.type === 'number') return fc.constantFrom(schema.minimum ?? 1, 60);
  if (schema.type === 'array')
    return fc.array(valueOf(schema.items ?? {}, pool), { minLength: 1, maxLength: 3 });
  if (schema.properties) return recordOf(schema, pool);
  if (schema.type === 'object')
    return fc
      .tuple(fc.constantFrom(...fields), textOf(schema, pool))
      .map(([field, value]) => ({ given: { [field]: value } }));
  return textOf(schema, pool);
}

/** Mostly what has the form that is asked for; anything is tried. */
function textOf({ pattern }: Schema, pool: readonly Reference[]): fc.Arbitrary<Reference> {
  const any = fc.constantFrom(...pool);
  const fitting = pool.filter(({ real }) => pattern !== undefined && new RegExp(pattern).test(real));
  if (fitting.length === 0) return any;
  return fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...fitting) }, { weight: 1, arbitrary: any });
}

function side(value: Value, which: (typeof sides)[number]): unknown {
  if (Array.isArray(value)) return value.map((each) => side(each, which));
  if (typeof value !== 'object') return value;
  if (!('given' in value)) return value[which];
  const given = Object.entries(value.given).filter(([, one]) => one !== undefined);
  return Object.fromEntries(given.map(([name, one]) => [name, side(one, which)]));
}
