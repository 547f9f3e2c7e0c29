import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Toolbox } from '../../core/offer/toolbox.ts';
import { defineTool, type ToolContext } from '../../core/offer/tool.ts';
import { makeRule, openTestGuard } from './guard.testing.ts';
import { guardTool, guardToolbox } from './wrappers.ts';

const context = {
  caller: { user: 'ada' },
  client: { name: 'test' },
  signal: new AbortController().signal,
} as unknown as ToolContext;

const rules = [
  makeRule({ id: 'word', when: 'before', match: { argument: 'bad' } }),
  makeRule({ id: 'code', when: 'before', match: { code: 'worse' } }),
  makeRule({ id: 'secret', when: 'after', match: { output: 'SECRET\\d*' }, action: 'redact' }),
  makeRule({ id: 'hidden', when: 'after', match: { output: 'HIDDEN' } }),
];

/** Says what it is told, in every place of an answer. */
const echo = (calls: string[], annotations = {}) =>
  defineTool({
    name: 'echo',
    group: 'files',
    title: 'Echo',
    description: 'Says it again.',
    input: z.strictObject({ text: z.string() }),
    output: z.object({ said: z.record(z.string(), z.array(z.string())) }),
    annotations,
    auditFields: { subject: [] },
    async handle({ text }) {
      calls.push(text);
      const picture = { type: 'image' as const, data: 'U0VDUkVU', mimeType: 'image/png' };
      return { text, structured: { said: { [text]: ['a', text] } }, content: [picture] };
    },
  });

it('a tool is judged in all places of its answer, and a blocked call does not reach it', async () => {
  await using opened = openTestGuard(rules);
  const calls: string[] = [];
  const tool = guardTool(echo(calls), opened.guard);
  const say = (text: string) => tool.handle({ text }, context);
  await assert.rejects(say('so bad'), {
    code: 'guard_blocked',
    message: /Nothing was run\. Because\. Do otherwise\. \(rule word\)/,
  });
  assert.deepEqual(calls, []);
  assert.deepEqual(await say('my SECRET1 is'), {
    text: 'my [redacted: secret] is\nThe guard of this server redacted this answer. Because. Do otherwise. (rule secret)',
    structured: { said: { 'my [redacted: secret] is': ['a', 'my [redacted: secret] is'] } },
    content: [{ type: 'image', data: 'U0VDUkVU', mimeType: 'image/png' }],
  });
  await assert.rejects(say('HIDDEN'), { code: 'guard_blocked', message: /Its answer is not shown/ });
  assert.deepEqual(calls, ['my SECRET1 is', 'HIDDEN']);
  assert.equal(((await say('__proto__')) as { text: string }).text, '__proto__');
});

it('a tool that only reads is not judged before, unless a rule names it, and its answer always is', async () => {
  await using opened = openTestGuard(rules);
  const reads = echo([], { readOnlyHint: true, openWorldHint: false });
  const told = (await guardTool(reads, opened.guard).handle({ text: 'bad SECRET1' }, context)) as {
    text: string;
  };
  assert.match(told.text, /^bad \[redacted: secret\]\n/);
  await using asked = openTestGuard(rules.filter(({ when }) => when === 'before'));
  assert.equal(guardTool(reads, asked.guard), reads);
  await using named = openTestGuard([
    makeRule({ id: 'a', when: 'before', tools: ['e*'], match: { argument: 'x' } }),
  ]);
  assert.notEqual(guardTool(reads, named.guard), reads);
});

it('errors are judged, questions are asked as they are or not at all, and progress has no words', async () => {
  await using opened = openTestGuard(rules);
  const heard: (string | undefined)[] = [];
  const listening = {
    ...context,
    progress: (_: number, __: number | null, message?: string) => heard.push(message),
  };
  const tool = (handle: ReturnType<typeof echo>['handle']) =>
    guardTool({ ...echo([], { readOnlyHint: true }), handle }, opened.guard);
  const run = (handle: ReturnType<typeof echo>['handle']) =>
    tool(handle).handle({ text: '' }, listening as unknown as ToolContext);
  const failing = run(async (_, { progress }) => {
    progress(1, 2, 'SECRET1');
    throw new WorkcrateError('not_found', 'No SECRET2.', { details: { name: 'SECRET3' } });
  });
  await assert.rejects(failing, {
    code: 'not_found',
    message: 'No [redacted: secret].',
    details: { name: '[redacted: secret]' },
  });
  assert.deepEqual(heard, [undefined]);
  const ask = (message: string) =>
    run(
      async () => ({ ask: { a: { method: 'elicitation/create', params: { message } } }, state: {} }) as never,
    );
  assert.ok('ask' in (await ask('Who are you?')));
  await assert.rejects(ask('Is it SECRET4?'), { code: 'guard_blocked' });
});

it('an answer that does not fit its schema with what was blanked is not shown', async () => {
  await using opened = openTestGuard([
    makeRule({ id: 'digits', when: 'after', match: { output: '\\d{4}-\\d\\d' }, action: 'redact' }),
  ]);
  const dated = guardTool(
    {
      ...echo([]),
      output: z.object({ day: z.iso.date() }),
      handle: async ({ text }) => ({ text: String(text), structured: { day: String(text) } }),
    } as ReturnType<typeof echo>,
    opened.guard,
  );
  await assert.rejects(async () => dated.handle({ text: '2026-11-18' }, context), { code: 'guard_blocked' });
});

it('tools of other servers are judged whatever they say of themselves', async () => {
  await using opened = openTestGuard(rules);
  const calls: unknown[] = [];
  const result: CallToolResult = {
    content: [
      { type: 'text', text: 'a SECRET2' },
      { type: 'image', data: 'QUJD', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'a:SECRET3', text: 'SECRET4' } },
      { type: 'resource', resource: { uri: 'b:1', blob: 'QUJD' } },
    ],
    structuredContent: { deep: [{ SECRET5: 'SECRET6' }] },
  };
  const answers: Record<string, CallToolResult> = {
    code_run: result,
    plain: { content: [{ type: 'text', text: 'HIDDEN' }] },
  };
  const toolbox: Toolbox = {
    list: async () => [],
    has: async () => true,
    async call(name, input) {
      calls.push(input);
      return answers[name]!;
    },
  };
  const guarded = guardToolbox(toolbox, opened.guard);
  const call = (name: string, input: Record<string, unknown>) =>
    guarded.call(name, input, context) as Promise<CallToolResult>;
  for (const input of [
    { a: { b: ['bad'] } },
    { code: 'worse' },
    { command: 'wor\u{ad}se' },
    { bad: 1, nested: { bad: 2 } },
  ])
    assert.equal((await call('code_run', input)).isError, true, JSON.stringify(input));
  assert.deepEqual(calls, []);
  const fitted = await call('code_run', { code: 'fine' });
  assert.ok(!JSON.stringify(fitted).includes('SECRET'), JSON.stringify(fitted));
  assert.deepEqual(fitted.content[1], result.content[1]);
  assert.deepEqual(fitted.content[3], result.content[3]);
  assert.match(JSON.stringify(fitted.content.at(-1)), /redacted this answer/);
  const hidden = await call('plain', {});
  assert.deepEqual(
    [hidden.isError, hidden._meta?.['workcrate/error']],
    [true, { code: 'guard_blocked', when: 'after', rules: 'hidden' }],
  );
});
