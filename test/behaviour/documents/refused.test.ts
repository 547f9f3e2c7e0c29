import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startServer, upload, type TestServer } from '../../server.testing.ts';
import { unpackArchive } from '../../../src/features/documents/formats/archive.ts';
import { mostText, refused } from './refused.testing.ts';

describe('documents that are refused', () => {
  let server: TestServer;
  before(async () => void (server = await startServer({ maxDocuments: 1, documentSize: mostText })));
  after(() => server?.[Symbol.asyncDispose]());

  const build = (input: Record<string, unknown>) =>
    server.call('build_exports_content', { formats: ['plain'], ...input });
  const stored = async (): Promise<string> =>
    JSON.stringify((await server.call('list_files', {})).data.files);

  /** Nothing of what was refused is left behind. */
  async function demandRefused(
    input: Record<string, unknown>,
    code: string | null,
    says: RegExp,
  ): Promise<void> {
    const before = await stored();
    const reply = await build(input);
    assert.deepEqual([reply.failed, reply.code], [true, code], reply.text);
    assert.match(reply.text, says);
    assert.equal(await stored(), before);
  }

  async function demandOrdinary(): Promise<void> {
    const reply = await build({ documentContent: 'Just *this*.' });
    assert.equal(reply.failed, false, reply.text);
    const { downloadUrl, file_id } = reply.data.artifacts[0];
    assert.equal((await (await fetch(downloadUrl)).text()).trim(), 'Just this.');
    await server.call('delete_file', { file_id });
  }

  for (const [kind, list] of Object.entries(refused))
    it(`${kind}: each is told what to do, nothing is stored, and the next document is built`, async (t) => {
      for (const { name, input, code, says } of list)
        await t.test(name, () => demandRefused(input, code, says));
      await demandOrdinary();
    });

  it('a text of 20 MB is refused, be it sent or named', async () => {
    const text = 'word '.repeat(4_000_000);
    const documentFile = await upload(server, 'long.md', text);
    await demandRefused({ documentFile }, 'too_large', /a document can use at most 1000000/);
    await assert.rejects(build({ documentContent: text }), /its body has more than 4 MiB/);
    await demandOrdinary();
  });

  it('a file that is not UTF-8 is refused with the line', async () => {
    await upload(server, 'latin.md', Buffer.from('one\ntwo\nsch\xf6n\n', 'latin1'));
    await demandRefused(
      { documentFile: 'latin.md' },
      'document_invalid',
      /latin\.md.*line 3.*Save it as UTF-8/,
    );
    const entries = { documentContent: '[@a]', bibliographyFile: 'latin.md' };
    await demandRefused(entries, 'document_invalid', /line 3/);
    await demandRefused({ documentFile: '../latin.md' }, 'not_found', /list_files/);
    await demandOrdinary();
  });

  it('a long file is taken as it is', async () => {
    const lines = Array.from({ length: 30_000 }, (_, at) => `line ${at}`).join('\n');
    const documentFile = await upload(server, 'lines.md', `~~~\n${lines}\n~~~\n`);
    const { data } = await build({ documentFile });
    const text = await (await fetch(data.artifacts[0].downloadUrl)).text();
    assert.ok(text.trim().replaceAll(/^ +/gm, '') === lines);
  });

  it('a reference document that is none is refused', async () => {
    await upload(server, 'reference.docx', 'PK and no more');
    const input = { documentContent: 'x', formats: ['docx'], referenceDoc: 'reference.docx' };
    await demandRefused(input, 'document_invalid', /not a DOCX.*saved as \.docx/);
    await demandOrdinary();
  });

  it('characters that XML cannot hold are in no document, however they are written', async () => {
    const reply = await build({
      documentContent: `---\ntitle: "a\\x01b"\nauthor: "c\\x02d"\n---\n\n# e&#3;f\n\nAs &#xfffe; [@a].\n`,
      bibliographyContent: '[{"id": "a", "type": "book", "title": "g\\u0004h\\uffffi"}]',
      formats: ['docx', 'odt', 'epub', 'pptx', 'html'],
    });
    assert.equal(reply.failed, false, reply.text);
    for (const { filename, downloadUrl } of reply.data.artifacts) {
      const bytes = Buffer.from(await (await fetch(downloadUrl)).arrayBuffer());
      const isPacked = bytes.toString('latin1', 0, 2) === 'PK';
      const parts = isPacked
        ? await unpackArchive(bytes, AbortSignal.timeout(10_000))
        : [{ name: filename, bytes }];
      for (const part of parts)
        if (/\.(?:x?html|xml|opf|ncx|rels)$/.test(part.name))
          assert.doesNotMatch(Buffer.from(part.bytes).toString(), unwritable, `${filename}: ${part.name}`);
    }
  });
});

// oxlint-disable-next-line eslint/no-control-regex -- they are what is looked for
const unwritable = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|&#(?:x0*[1-8];|0*[1-8];|x0*fff[ef];|6553[45];)/i;
