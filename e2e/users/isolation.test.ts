import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { belongingsOf, type Belongings, type Reference } from './belongings.testing.ts';
import { databases, startTeam, type Member, type Team } from './team.testing.ts';

/** What a tool says of one of its arguments. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
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
  describe(`A10: two users, on ${kind}`, { skip }, () => {
    let team: Team;
    let eve: Member;
    let own: Belongings;
    let others: Belongings;
    let untouched: unknown;
    before(async () => {
      team = await startTeam({ database: await url() });
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
      return plain
        .replaceAll(/[A-Za-z0-9_-]{43}/g, '<token>')
        .replaceAll(/(file|exec)_[0-9a-f]+/g, '<id>')
        .replaceAll(/"link_id\\*":\\*"[0-9a-f]{16}/g, '<link>')
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]*Z?/g, '<time>')
        .replaceAll(/"duration_ms\\*":\d+/g, '<ms>');
    };

    const ask = async (tool: string, input: Arguments): Promise<string> => {
      const { text, data, failed, code } = await eve.call(tool, input);
      return JSON.stringify([failed, code, text, data ?? null]);
    };

    it('no tool, whatever it is given, tells eve of anything that is bob’s, or that it is there', async () => {
      const { tools } = await eve.client.listTools();
      assert.ok(tools.length >= 13);
      for (const { name, inputSchema } of tools) {
        const property = fc.asyncProperty(
          twinsOf(inputSchema as InputSchema, others.references),
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
        await fc.assert(property, { numRuns: 40, endOnFailure: true });
      }
      assert.deepEqual(await others.look(), untouched);
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
      ];
      for (const [tool, input] of asked) assert.equal((await eve.call(tool, input)).failed, true, tool);
      assert.deepEqual(await others.look(), untouched);
    });

    it('lists hold what is eve’s alone', async () => {
      for (const tool of ['list_files', 'list_artifacts', 'search_executions']) {
        const answer = await ask(tool, {});
        assert.ok(answer.includes(own.mark) && !answer.includes(others.mark), answer);
      }
      assert.deepEqual((await eve.call('search_executions', { text: others.mark })).data.executions, []);
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
    });
  });

interface InputSchema {
  readonly properties?: Record<string, Schema>;
  readonly required?: readonly string[];
}

/** Arguments that fit what a tool says it takes, made of what the other has. */
function twinsOf(
  { properties = {}, required = [] }: InputSchema,
  pool: readonly Reference[],
): fc.Arbitrary<Twins> {
  const values = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valueOf(schema, pool)]),
  );
  return fc.record(values, { requiredKeys: [...required] }).map((chosen) => ({
    real: side(chosen, 'real'),
    madeUp: side(chosen, 'madeUp'),
  }));
}

type Value = Reference | Reference[] | string | number | boolean;

function valueOf(schema: Schema, pool: readonly Reference[]): fc.Arbitrary<Value> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer' || schema.type === 'number') return fc.constantFrom(schema.minimum ?? 1, 60);
  const one = fc.constantFrom(...pool);
  return schema.type === 'array' ? fc.array(one, { minLength: 1, maxLength: 3 }) : one;
}

function side(chosen: Record<string, Value | undefined>, which: 'real' | 'madeUp'): Arguments {
  const plain = (value: Value): unknown => {
    if (Array.isArray(value)) return value.map((each) => each[which]);
    return typeof value === 'object' ? value[which] : value;
  };
  const given = Object.entries(chosen).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, plain(value!)]));
}
