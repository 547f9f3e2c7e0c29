import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolContext } from '../../core/offer/tool.ts';
import { ownServer } from '../../core/offer/toolbox.ts';
import { makeCall, refusedCall, searchTool, textResult } from './calls.testing.ts';
import { shortenDefinitions } from './offered-tool.ts';
import { createRecordedToolbox, diffCalls } from './recorded.ts';
import { makeDefinition } from './stubs/definitions.testing.ts';
import { generateStubs } from './stubs/stubs.ts';

const context = {} as ToolContext;
const same = { query: 'same' };

test('a recorded toolbox answers by tool and arguments, in order, and with the last answer from then on', async () => {
  const calls = [
    makeCall(1, { arguments: same, result: textResult('first') }),
    makeCall(2),
    makeCall(3, { arguments: same, result: textResult('second') }),
  ];
  const toolbox = createRecordedToolbox(calls, shortenDefinitions([searchTool], new Set(['search_index'])));
  const ask = async (input: Record<string, unknown>) => {
    const { content, isError = false } = (await toolbox.call('search_index', input, context)) as {
      content: { text: string }[];
      isError?: boolean;
    };
    return [content[0]!.text, isError];
  };
  assert.deepEqual(await ask({ query: 'number 2' }), ['found 2', false]);
  assert.deepEqual(await ask(same), ['first', false]);
  assert.deepEqual(await ask(same), ['second', false]);
  assert.deepEqual(await ask(same), ['second', false]);
  assert.deepEqual(await ask({ query: 'other' }), [
    'No call of search_index with these arguments was recorded. Replay with --tools live.',
    true,
  ]);
  assert.deepEqual(
    [await toolbox.has('search_index', context), await toolbox.has('other', context)],
    [true, false],
  );
  await assert.rejects(toolbox.call('search_inde', {}, context), {
    code: 'not_found',
    message: /search_index/,
  });
});

test('what was refused is refused again, and what was too large says so', async () => {
  const lost = { ...makeCall(2), result: null };
  const toolbox = createRecordedToolbox([refusedCall(1), lost], shortenDefinitions([searchTool], new Set()));
  const texts = [];
  for (const { arguments: input } of [refusedCall(1), lost])
    texts.push(JSON.stringify(await toolbox.call('search_index', input, context)));
  assert.match(texts[0]!, /"isError":true.*Nobody allowed it/);
  assert.match(texts[1]!, /"isError":true.*too large to be recorded/);
});

test('a replay gets the functions that the code had, also of tools that it did not call', async () => {
  const definitions = [searchTool, makeDefinition({ name: 'read', server: ownServer })];
  const offered = shortenDefinitions(definitions, new Set(['search_index']));
  assert.deepEqual(Object.keys(offered[1]!), ['name', 'server', 'nameThere', 'hash']);
  const toolbox = createRecordedToolbox([], JSON.parse(JSON.stringify(offered)));
  const module = generateStubs(await toolbox.list(context)).get('workcrate/__init__.py')!;
  assert.match(module, /def search_index\(query, \*\*_more\):/);
  assert.match(module, /def read\(\*\*_more\):/);
});

test('what differs between two runs is told call by call', () => {
  const before = [makeCall(1), makeCall(2), makeCall(3), makeCall(4), refusedCall(5)];
  const made = [
    makeCall(1),
    makeCall(2, { arguments: before[2]!.arguments, result: textResult('another') }),
    makeCall(3, { arguments: before[1]!.arguments, definitionHash: 'f', result: before[1]!.result }),
    makeCall(4, { arguments: { query: 'new' } }),
    makeCall(5, { outcome: 'error', arguments: before[4]!.arguments }),
  ];
  assert.deepEqual(
    diffCalls(before, made).map(({ sequence, state }) => [sequence, state]),
    [
      [1, 'same'],
      [2, 'other result'],
      [3, 'other definition'],
      [4, 'extra'],
      [5, 'same'],
      [4, 'missing'],
    ],
  );
});
