import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { WorkcrateError, type ErrorCode } from '../../platform/errors.ts';
import { hashLinkToken, createToken, toPublicId } from '../links/link.ts';
import { defineTool, type Tool, type ToolAnswer, type ToolContext } from '../offer/tool.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { event, linesOf, open, temporaryLog } from './log.testing.ts';
import { auditTools } from './tools.ts';
import { auditTool } from './wrappers.ts';

const context = (given: Partial<ToolContext> = {}): ToolContext => ({
  caller: { user: 'ada' },
  signal: AbortSignal.timeout(60_000),
  stopping: new AbortController().signal,
  client: {
    name: 'a client 1.0',
    connection: null,
    capabilities: {},
    answer: () => ({ kind: 'missing' }),
    state: null,
  },
  sharesMachine: false,
  mayUse: () => true,
  task: null,
  canWait: true,
  progress() {},
  ...given,
});

const undeclared = {
  name: 'obey',
  group: 'files',
  title: 'Obey',
  description: '',
  input: z.object({ path: z.string().optional() }),
  output: z.object({}),
  annotations: {},
} as const;

/** Does what it is told to, and takes whatever it is given. */
const obedient = (act: () => ToolAnswer<Record<string, never>> | { ask: {}; state: {} }): Tool => ({
  ...undeclared,
  auditFields: {
    subject: ['path', 'file_id', 'filename', 'crate_id', 'execution_id'],
    link: { id: 'link_id', token: 'token' },
    made: ['filename'],
    files: ['file_ids', 'files', 'client_files'],
    newToken: 'token',
  },
  handle: async () => act(),
});

test('a tool that does not declare what the audit log shows of it does not compile', () => {
  const handle = async () => ({ text: '', structured: {} });
  // @ts-expect-error -- it declares nothing
  defineTool({ ...undeclared, handle });
  // @ts-expect-error -- it has no such argument
  defineTool({ ...undeclared, auditFields: { subject: ['file_id'] }, handle });
  assert.ok(defineTool({ ...undeclared, auditFields: { subject: ['path'] }, handle }));
});

const fail =
  (code: ErrorCode, details = {}) =>
  (): never => {
    throw new WorkcrateError(code, 'No.', { details });
  };

test('every call of an audited tool is a line with its result, what leads elsewhere is a violation, and a mistake is none', async () => {
  using folder = temporaryLog();
  {
    await using audit = open(folder.path);
    const acts: [
      () => never | ToolAnswer<Record<string, never>> | { ask: {}; state: {} },
      Partial<ToolContext>,
    ][] = [
      [() => ({ text: '', structured: {} }), {}],
      [() => ({ ask: {}, state: {} }), {}],
      [fail('not_found'), {}],
      [fail('path_refused', { kind: 'parent' }), {}],
      [fail('path_refused', { kind: 'not_regular' }), {}],
      [fail('path_not_allowed', { kind: 'not_allowed' }), {}],
      [fail('forbidden'), {}],
      [fail('forbidden', { scope: 'crates' }), {}],
      [
        () => {
          throw new TypeError('secret');
        },
        {},
      ],
      [fail('not_found'), { signal: AbortSignal.abort() }],
    ];
    for (const [act, given] of acts)
      await auditTool(obedient(act), audit)
        .handle({}, context(given))
        .catch(() => {});
  }
  const lines = linesOf(folder.path).slice(2);
  assert.deepEqual(
    lines.map(({ level, result, details }) => [level, result, details?.['kind']]),
    [
      ['trace', 'ok', undefined],
      ['trace', 'asked', undefined],
      ['info', 'not_found', undefined],
      ['warning', 'path_refused', 'parent'],
      ['info', 'path_refused', undefined],
      ['info', 'path_not_allowed', undefined],
      ['warning', 'forbidden', 'forbidden'],
      ['info', 'forbidden', undefined],
      ['info', 'internal', undefined],
      ['info', 'cancelled', undefined],
    ],
  );
  assert.ok(
    lines.every(
      ({ operation, user, client }) => `${operation} ${user} ${client}` === 'obey ada a client 1.0',
    ),
  );
  recordProof('E8:every-operation', 'E8:successes-at-trace');
});

test('the subject is what a call is about, and never a token', async () => {
  using folder = temporaryLog();
  const token = createToken();
  const id = toPublicId(hashLinkToken(token));
  const inputs: [Record<string, unknown>, string | null][] = [
    [{ query: 'x', path: 'docs/a.md' }, 'docs/a.md'],
    [{ filename: 'a.csv', name: 'n' }, 'a.csv'],
    [{ crate_id: 'crate_1', execution_id: 'exec_1' }, 'crate_1'],
    [{ token }, id],
    [{ token: `http://127.0.0.1:1/downloads/${token}` }, id],
    [{ token: `${token}x` }, null],
    [{ link_id: token }, id],
    [{ link_id: id }, id],
    [{ path: `http://127.0.0.1:1/files/${token}` }, 'http://127.0.0.1:1/files/…'],
    [{ link_id: ` ${token} ` }, id],
    [{ file_id: token }, `${token.slice(0, 8)}…${id}`],
    [{ query: 'x', path: 7 }, null],
  ];
  {
    await using audit = open(folder.path);
    const tool = auditTool(
      obedient(() => ({ text: '', structured: {} })),
      audit,
    );
    for (const [input] of inputs) await tool.handle(input, context());
  }
  const lines = linesOf(folder.path).slice(2);
  assert.deepEqual(
    lines.map(({ subject }) => subject),
    inputs.map(([, subject]) => subject),
  );
  assert.ok(!JSON.stringify(lines).includes(token));
});

test('a call that made a link tells its public name', async () => {
  using folder = temporaryLog();
  const token = createToken();
  {
    await using audit = open(folder.path);
    const made = obedient(() => ({ text: '', structured: { filename: 'a.csv', token } as never }));
    await auditTool(made, audit).handle({}, context());
  }
  const [line] = linesOf(folder.path).slice(2);
  assert.deepEqual([line!.subject, line!.details], ['a.csv', { link: toPublicId(hashLinkToken(token)) }]);
  assert.ok(!JSON.stringify(line).includes(token));
});

test('a call that names many files is told with the first of them and their number', async () => {
  using folder = temporaryLog();
  const ids = Array.from({ length: 30 }, (_, at) => `file_${String(at).padStart(24, '0')}`);
  {
    await using audit = open(folder.path);
    const tool = auditTool(
      obedient(() => ({ text: '', structured: {} })),
      audit,
    );
    await tool.handle({ file_ids: ids, filename: 'all.zip' }, context());
    const client_files = [{ path: 'docs/a.csv' }, { path: 'docs/b c.csv' }];
    await tool.handle({ files: [{ path: 'docs/x', content: 'secret' }, 7], client_files }, context());
  }
  const [bundle, run] = linesOf(folder.path).slice(2);
  assert.deepEqual(
    [bundle!.subject, bundle!.details],
    ['all.zip', { files: ids.slice(0, 20).join(' '), files_count: 30 }],
  );
  assert.deepEqual(run!.details, { files: 'docs/x docs/a.csv "docs/b c.csv"', files_count: 3 });
});

test('a key in the name of a file is hidden before the name is cut', async () => {
  using folder = temporaryLog();
  const key = `wck_${createToken()}`;
  {
    await using audit = open(folder.path);
    const tool = auditTool(
      obedient(() => ({ text: '', structured: {} })),
      audit,
    );
    await tool.handle({ file_ids: [`docs/${'a'.repeat(55)}/${key}`] }, context());
  }
  const [line] = linesOf(folder.path).slice(2);
  assert.equal(line!.details!['files'], `docs/${'a'.repeat(55)}/wck_…`);
});

test('search_audit gives operators the lines of all users, by page, and nobody else', async () => {
  using folder = temporaryLog();
  {
    await using audit = open(folder.path, { key: 'k' });
    for (const subject of ['a', 'b', '\u001b[2J\nc']) audit.note(event({ subject }));
  }
  const [tool] = auditTools;
  const room = { folder: folder.path, key: 'k' };
  const ask = async (input: object, given: Partial<ToolContext> = {}) => {
    const answer = (await tool!.handle(room, tool!.input.parse(input), context(given))) as ToolAnswer<never>;
    return {
      text: answer.text,
      ...(tool!.output.parse(answer.structured) as {
        lines: { subject: string; intact: boolean }[];
        next: string;
      }),
    };
  };
  const first = await ask({ limit: 1, operation: 'read_client_file', since: '2026-05-04T00:00:00Z' });
  assert.match(
    first.text,
    /^2026-05-04T12:00:00\.000Z {2}trace .*"\\u001b\[2J\\nc".*\nThere may be more: before 2026-05-04:\d+\.$/,
  );
  const rest = await ask({ operation: 'read_client_file', before: first.next });
  assert.deepEqual(
    rest.lines.map(({ subject, intact }) => [subject, intact]),
    [
      ['b', true],
      ['a', true],
    ],
  );
  for (const [since, count] of [
    ['2026-05-04', 3],
    ['2026-05-05', 0],
    ['2026-05-04T14:00+02:00', 3],
  ] as const)
    assert.equal((await ask({ operation: 'read_client_file', since })).lines.length, count, since);
  for (const since of ['2026-13-45', '2026-02-30', '2026-02-30T12:00Z'])
    await assert.rejects(ask({ since }), /no such time/);
  await assert.rejects(ask({ since: 'monday' }), /a day such as 2026-05-04/);
  assert.equal((await ask({ user: 'nobody' })).text, 'No line matches.');
  await assert.rejects(ask({}, { mayUse: () => false }), { code: 'forbidden' });
});
