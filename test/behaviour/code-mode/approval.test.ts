import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { connect, type Connected } from '../client-files/clients.testing.ts';
import { noSandbox, useCodeServer } from '../../code.testing.ts';
import { upload } from '../../server.testing.ts';

const versions = ['2025-06-18', '2025-11-25', '2026-07-28'] as const;

const deleteEach = (ids: readonly string[]): string => `from mcp.workcrate import delete_file, ToolError
for file in ${JSON.stringify(ids)}:
    try: delete_file(file_id=file); print("deleted")
    except ToolError as error: print(error.text)`;

describe('a call that may destroy something', { skip: noSandbox }, () => {
  const server = useCodeServer({ clientTimeout: 3 });

  const open = (
    version: (typeof versions)[number],
    form: ((params: ElicitRequest['params']) => Promise<ElicitResult>) | null,
  ): Promise<Connected> =>
    connect({ url: server().url, stdio: false } as Parameters<typeof connect>[0], {
      version,
      capabilities: form === null ? {} : { elicitation: { form: {} } },
      manners: form === null ? {} : { form },
    });

  const exists = async (id: string): Promise<boolean> =>
    (await server().call('list_files', {})).data.files.some(
      ({ file_id }: { file_id: string }) => file_id === id,
    );

  for (const version of versions) {
    it(`${version}: asks the person, who allows and declines`, async () => {
      const ids = await Promise.all([1, 2, 3].map((name) => upload(server(), `${name}.txt`, `${name}`)));
      const asked: string[] = [];
      await using client = await open(version, async ({ message }) => {
        asked.push(message);
        return { action: asked.length === 2 ? 'decline' : 'accept', content: {} };
      });
      const { data, text } = await client.call('execute_code', {
        language: 'python',
        code: deleteEach(ids),
        tools: ['delete_file'],
      });
      assert.equal(data?.stdout, 'deleted\nIt was not allowed: the user declined.\ndeleted\n', text);
      assert.equal(asked.length, 3);
      assert.match(asked[0]!, new RegExp(`delete_file.*${ids[0]}`));
      assert.deepEqual(await Promise.all(ids.map(exists)), [false, true, false]);
    });

    it(`${version}: a person may allow all further calls of a tool`, async () => {
      const ids = await Promise.all([1, 2, 3].map((name) => upload(server(), `${name}.txt`, `${name}`)));
      let asked = 0;
      await using client = await open(version, async () => {
        asked++;
        return { action: 'accept', content: { always: true } };
      });
      const code = deleteEach(ids);
      const { data } = await client.call('execute_code', {
        language: 'python',
        code,
        tools: ['delete_file'],
      });
      assert.deepEqual([data.stdout, asked], ['deleted\ndeleted\ndeleted\n', 1]);
    });

    it(`${version}: the time of the run stands still while a person thinks`, async () => {
      const id = await upload(server(), 'a.txt', 'a');
      await using client = await open(version, async () => {
        await new Promise((resolve) => setTimeout(resolve, 1500));
        return { action: 'accept', content: {} };
      });
      const asked = { language: 'python', code: deleteEach([id]), tools: ['delete_file'], timeout_ms: 1000 };
      const { data, text } = await client.call('execute_code', asked);
      assert.deepEqual([data?.end_reason ?? text, data?.stdout], ['exit', 'deleted\n']);
    });

    it(`${version}: a client that cannot ask, and one that does not answer, are a refusal`, async () => {
      const id = await upload(server(), 'a.txt', 'a');
      const asked = { language: 'python', code: deleteEach([id]), tools: ['delete_file'] };
      await using mute = await open(version, null);
      const { data } = await mute.call('execute_code', asked);
      assert.match(data.stdout, /this client cannot ask its user/);
      await using background = await open(version, async () => ({ action: 'accept', content: {} }));
      const begun = await background.call('execute_code', { ...asked, background: true });
      const ended = await server().call('get_execution', {
        execution_id: begun.data.execution_id,
        wait_ms: 10_000,
      });
      assert.match(ended.data?.stdout ?? ended.text, /nobody can be asked/);
      assert.equal(await exists(id), true);
    });
  }

  it('arguments that are too long to be shown whole are refused, and nobody is asked', async () => {
    const asked: string[] = [];
    await using client = await open('2025-11-25', async ({ message }) => {
      asked.push(message);
      return { action: 'accept', content: {} };
    });
    const code = `from mcp.workcrate import delete_file, ToolError
for length in (3000, 5000):
    try: delete_file(file_id="x" * length + "behind")
    except ToolError as error: print(error.text)`;
    const { data, text } = await client.call('execute_code', {
      language: 'python',
      code,
      tools: ['delete_file'],
    });
    assert.match(data?.stdout ?? text, /its arguments have 50\d\d characters/);
    assert.equal(asked.length, 1);
    assert.match(asked[0]!, /xbehind"/);
    recordProof('F6:all-is-shown-that-is-asked');
  });

  it('nobody answers: the run goes on, and the call too where its client still waits', async () => {
    const id = await upload(server(), 'a.txt', 'a');
    const asked = { language: 'python', code: deleteEach([id]), tools: ['delete_file'] };
    const never = Promise.withResolvers<ElicitResult>();
    await using client = await open('2025-06-18', () => never.promise);
    const { data, text } = await client.call('execute_code', asked);
    never.resolve({ action: 'cancel' });
    assert.match(data?.stdout ?? text, /did not answer within 3 seconds/);
    assert.equal(await exists(id), true);
    recordProof('F6:destructive-calls-ask');
  });
});
