import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { startServer, upload, type TestServer } from '../../server.testing.ts';
import { descendantsWith, isAlive } from './descendants.testing.ts';
import { endlessForPandoc, endlessForTypst, largeForPandoc, largePicture } from './endless.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

/** An ordinary document needs some 350 MB and 2 s when nothing has been started yet. */
const limits = { documentMemory: 450e6, maxDocuments: 1 };

for (const [what, documentTimeout, tests] of [
  ['too long', 8, tooLong],
  // So much memory takes its time, too: only here may that not run out.
  ['too much', 120, tooMuch],
] as const)
  describe(`documents that would take ${what}`, () => {
    let server: TestServer;
    before(async () => void (server = await startServer({ ...limits, documentTimeout })));
    after(() => server?.[Symbol.asyncDispose]());
    tests(() => server);
  });

/** What is asked of a server, and what is demanded of it. */
function asking(server: () => TestServer) {
  const build = (documentContent: string, formats: string[]) =>
    server().call('build_exports_content', { documentContent, formats });
  const stored = async (): Promise<number> => (await server().call('list_files', {})).data.files.length;

  /** It begins cold, which a busy machine may need more than one time of eight seconds for. */
  const demandOrdinary = (formats: string[]) =>
    eventually(async () => {
      const reply = await build('Just *this*.', formats);
      assert.ok(!reply.failed || reply.code === 'document_timeout', reply.text);
      return !reply.failed && reply.data.failures.length === 0;
    });

  async function demandFailure(text: string, formats: string[], code: string, says: RegExp): Promise<void> {
    const before = await stored();
    const reply = await build(text, formats);
    assert.deepEqual([reply.failed, reply.code], [true, code], reply.text);
    assert.match(reply.text, says);
    assert.equal(await stored(), before);
  }

  return { build, demandOrdinary, demandFailure };
}

/** Of those processes that are there while something is done, none is left. */
async function endsWith(work: Promise<unknown>, words: string): Promise<void> {
  await eventually(() => descendantsWith(words).length > 0);
  const busy = descendantsWith(words);
  await work;
  await eventually(() => !busy.some(isAlive));
}

function tooLong(server: () => TestServer): void {
  const { build, demandOrdinary, demandFailure } = asking(server);

  it('one that Typst never finishes is ended in time, and formats that were built are there', async () => {
    await demandOrdinary(['pdf']);
    let reply = build(endlessForTypst, ['plain', 'pdf']);
    await eventually(async () => {
      await endsWith(reply, 'typst-process');
      // Again where nothing was built in that time, on a busy machine.
      if ((await reply).code !== 'document_timeout') return true;
      reply = build(endlessForTypst, ['plain', 'pdf']);
      return false;
    });
    const { failed, text, data } = await reply;
    assert.equal(failed, false, text);
    assert.deepEqual(
      data.artifacts.map(({ format }: { format: string }) => format),
      ['plain'],
    );
    const [failure] = data.failures;
    assert.deepEqual([failure.format, failure.code], ['pdf', 'document_timeout']);
    assert.match(failure.message, /longer than 8 seconds.*--document-timeout/);
    await demandOrdinary(['pdf']);
    recordProof('C12:does-not-outlive-its-timeout');
  });

  it('one that Pandoc never finishes is ended in time, with its process', async () => {
    await endsWith(
      demandFailure(endlessForPandoc, ['plain'], 'document_timeout', /longer than 8 seconds.*split/),
      'pandoc-process',
    );
    await demandOrdinary(['plain']);
    recordProof('C12:does-not-outlive-its-timeout');
  });
}

function tooMuch(server: () => TestServer): void {
  const { demandOrdinary, demandFailure } = asking(server);

  it('one for which Pandoc needs too much memory fails and says so', async () => {
    await demandFailure(largeForPandoc, ['plain'], 'document_failed', /memory.*smaller/);
    await demandOrdinary(['plain']);
  });

  it('one for which Typst needs too much memory fails and says so', async () => {
    const names = Array.from({ length: 4 }, (_, at) => `large-${at}.png`);
    for (const name of names) await upload(server(), name, largePicture(name));
    const text = names.map((name) => `![x](${name})\n\n`).join('');
    await demandFailure(text, ['pdf'], 'document_failed', /memory.*smaller/);
    await demandOrdinary(['pdf']);
  });
}
