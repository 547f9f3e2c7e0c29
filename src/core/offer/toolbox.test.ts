import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import {
  createOwnToolbox,
  hashDefinition,
  joinToolboxes,
  ownServer,
  toolNotFoundError,
  type Toolbox,
} from './toolbox.ts';
import { defineTool, type ToolContext, type ToolGroup } from './tool.ts';

const makeTool = (name: string, group: ToolGroup) =>
  defineTool({
    name,
    group,
    title: name,
    description: `Says ${name}.`,
    input: z.strictObject({ times: z.number().int().max(3) }),
    output: z.object({ said: z.string() }),
    annotations: { readOnlyHint: true },
    auditFields: { subject: [] },
    async handle({ times }) {
      if (times === 0) throw new WorkcrateError('invalid_input', 'Nothing to say.');
      return { text: name.repeat(times), structured: { said: name.repeat(times) } };
    },
  });

const allow = (...groups: readonly ToolGroup[]) =>
  ({ mayUse: (group: ToolGroup) => groups.includes(group) }) as unknown as ToolContext;

const own = createOwnToolbox([makeTool('hello', 'code'), makeTool('bye', 'files')]);

test('only what the scopes allow is listed and called', async () => {
  const listed = await own.list(allow('code'));
  assert.deepEqual(
    listed.map(({ name, server, nameThere }) => ({ name, server, nameThere })),
    [{ name: 'hello', server: ownServer, nameThere: 'hello' }],
  );
  assert.equal(await own.has('bye', allow('code')), false);
  await assert.rejects(own.call('bye', { times: 1 }, allow('code')), { code: 'not_found' });
});

test('a call gives structured content, and what fails is a result', async () => {
  assert.deepEqual(await own.call('hello', { times: 2 }, allow('code')), {
    content: [{ type: 'text', text: 'hellohello' }],
    structuredContent: { said: 'hellohello' },
  });
  const failed = await own.call('hello', { times: 0 }, allow('code'));
  assert.ok('isError' in failed && failed.isError === true);
  const wrong = await own.call('hello', { times: 9, more: 1 }, allow('code'));
  assert.match(JSON.stringify(wrong), /arguments of hello do not fit: times: .*"code":"invalid_input"/);
});

test('joined toolboxes ask the first that has a tool, and name the nearest where none has', async () => {
  const other: Toolbox = {
    list: async () => [],
    has: async (name) => name === 'far_away' || name === 'hello',
    call: async () => ({ content: [{ type: 'text', text: 'from afar' }] }),
  };
  const both = joinToolboxes([own, other]);
  assert.match(JSON.stringify(await both.call('far_away', {}, allow('code'))), /from afar/);
  assert.match(JSON.stringify(await both.call('hello', { times: 1 }, allow('code'))), /"said":"hello"/);
  await assert.rejects(both.call('helo', {}, allow('code')), /Did you mean hello\?/);
  assert.equal(toolNotFoundError('zzzzzz', ['hello']).message, 'There is no tool "zzzzzz" for you here.');
});

test('a hash does not depend on the order of keys', () => {
  assert.equal(hashDefinition({ a: 1, b: { c: [1], d: 2 } }), hashDefinition({ b: { d: 2, c: [1] }, a: 1 }));
  assert.notEqual(hashDefinition({ a: [1, 2] }), hashDefinition({ a: [2, 1] }));
});
