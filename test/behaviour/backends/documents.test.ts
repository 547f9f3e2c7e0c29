import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { backends, startServer, upload, type TestServer } from '../../server.testing.ts';
import { documentFormats } from '../../../src/features/documents/document.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { countTokens } from '../../tokens.testing.ts';

/** One dot. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const bibliographyContent = `@article{curie1898,
  author = {Curie, Marie}, title = {Rayons émis par les composés}, journal = {Comptes rendus}, year = {1898}
}`;

const documentContent = `---
title: On rays
author: Marie Curie
---

# Method {#method}

As shown by [@curie1898] and [@nobody], $E = mc^2$.

![A dot](dot.png)
`;

interface Artifact {
  readonly format: string;
  readonly file_id: string;
  readonly filename: string;
  readonly downloadUrl: string;
  readonly size: number;
  readonly sha256: string;
  readonly token: string;
}

describe(`documents, on ${backends}`, () => {
  let server: TestServer;
  before(async () => void (server = await startServer({ maxDocuments: 1 })));
  after(() => server?.[Symbol.asyncDispose]());

  const fetched = async ({ downloadUrl, sha256, size }: Artifact): Promise<Buffer> => {
    const bytes = Buffer.from(await (await fetch(downloadUrl)).arrayBuffer());
    assert.deepEqual([bytes.length, createHash('sha256').update(bytes).digest('hex')], [size, sha256]);
    return bytes;
  };

  it('Markdown with a picture and citations leaves as PDF, DOCX and HTML by links', async () => {
    const id = await upload(server, 'dot.png', png);
    const reply = await server.call('build_exports_content', {
      documentContent,
      bibliographyContent,
      formats: ['pdf', 'docx', 'html'],
      outputBasename: 'rays',
    });
    assert.equal(reply.failed, false, reply.text);
    const artifacts = reply.data.artifacts as Artifact[];
    assert.deepEqual(
      artifacts.map(({ format, filename }) => [format, filename]),
      [
        ['pdf', 'rays.pdf'],
        ['docx', 'rays.docx'],
        ['html', 'rays.html'],
      ],
    );
    assert.deepEqual([reply.data.failures, reply.data.missingCitations], [[], ['nobody']]);
    const lines = reply.text.split('\n');
    for (const [at, { format, file_id, filename, downloadUrl }] of artifacts.entries()) {
      assert.ok(lines[at]!.startsWith(`${format} (${file_id}): ${filename}, `), reply.text);
      assert.ok(lines[at]!.endsWith(` ${downloadUrl}`), reply.text);
    }
    assert.deepEqual(lines.slice(3), ['Warning: nobody is cited, but is in no bibliography.']);
    assert.match(reply.data.warnings.join('\n'), /nobody is cited/);
    assert.ok(reply.data.instructions.length > 0 && artifacts.every(({ token }) => token.length > 20));
    const [pdf, docx, html] = await Promise.all(artifacts.map(fetched));
    assert.equal(pdf!.subarray(0, 5).toString(), '%PDF-');
    assert.equal(docx!.subarray(0, 2).toString(), 'PK');
    assert.match(html!.toString(), /Curie, Marie\. 1898[^]*Comptes Rendus/i);
    assert.ok(html!.includes('data:image/png;base64,'), 'the picture is in the page itself');
    const byId = await server.call('build_exports_content', {
      documentContent: `![A dot](${id})`,
      formats: ['html'],
    });
    assert.equal(byId.failed, false, byId.text);
    recordProof('C11:answer-shape');
  });

  it('two documents cost a model at most 250 tokens', async () => {
    const { text } = await server.call('build_exports_content', {
      documentContent: 'Some words.',
      formats: ['pdf', 'docx'],
      outputBasename: 'report-on-rays',
    });
    assert.equal(text.split('\n').length, 2, text);
    assert.ok(countTokens(text) <= 250, `${countTokens(text)}: ${text}`);
  });

  it('arguments that are not listed are taken all the same', async () => {
    const { data } = await server.call('build_exports_content', {
      documentContent: 'Some words [@nobody].',
      formats: ['html'],
      title: 'Given as an argument',
      authors: ['Ada Byron'],
      useCiteproc: false,
    });
    const html = (await fetched(data.artifacts[0])).toString();
    assert.match(html, /Given as an argument[^]*Ada Byron/);
    assert.deepEqual(data.missingCitations, []);
  });

  it('citations without a bibliography are warned of, in every format, and what is no citation is not', async () => {
    const build = (text: string, formats: readonly string[], more = {}) =>
      server.call('build_exports_content', { documentContent: text, formats, ...more });
    const cited = 'See [@nokey; @other, p. 3] and @third, but not me@example.org, @fig-one or `@code`.';
    for (const formats of [documentFormats, ['pdf'], ['latex']]) {
      const { data, text } = await build(cited, formats);
      assert.deepEqual(data.missingCitations, ['nokey', 'other', 'third'], text);
      const warning = data.warnings.find((each: string) => each.includes('bibliography'));
      assert.match(
        warning,
        /^No bibliography was given, .* \(@nokey, @other, @third\)\. Give bibliographyContent /,
      );
      assert.ok(text.includes(`Warning: ${warning}`), text);
    }
    const none = await build('Write to me@example.org; see @fig-one and [@tbl-two; @eq-x; @sec-y].', [
      'html',
    ]);
    assert.deepEqual([none.data.missingCitations, none.data.warnings], [[], []]);
    const empty = await build('See [@nokey].', ['html'], { bibliographyContent: ' ' });
    assert.deepEqual(empty.data.missingCitations, ['nokey']);
    assert.match(empty.text, /Warning: nokey is cited, but is in no bibliography\./);
    recordProof('C13:citations-without-a-bibliography-are-warned-of');
  });

  it('a format that fails names itself, and the others are there', async () => {
    const reply = await server.call('build_exports_content', {
      // No font has it, which PDF/A does not take.
      documentContent: '\u{13000}',
      formats: ['pdf', 'plain'],
      pdfa: true,
    });
    assert.equal(reply.failed, false, reply.text);
    const [failure] = reply.data.failures;
    assert.deepEqual([failure.format, failure.code], ['pdf', 'document_failed']);
    assert.ok(reply.text.endsWith(`\npdf could not be built: ${failure.message}`), reply.text);
    assert.equal((await fetched(reply.data.artifacts[0])).toString().trim(), '\u{13000}');
    recordProof('C11:one-failure-names-itself');
  });

  it('citations are compared with the bibliography', async () => {
    const { data, text } = await server.call('validate_citations', { documentContent, bibliographyContent });
    assert.deepEqual([data.valid, data.missing[0].key, data.unused], [false, 'nobody', []]);
    assert.equal(
      text,
      '2 keys are cited, and the bibliography has 1 entries: some keys have none.\nWithout an entry: nobody (cited 1×)',
    );
    recordProof('C13:keys-without-an-entry');
  });

  it('what is built is a file like any other: listed, shared again, deleted', async () => {
    const built = await server.call('build_exports_content', { documentContent: 'x', formats: ['plain'] });
    const [{ file_id }] = built.data.artifacts;
    const shared = await server.call('share_file', { file_id });
    assert.equal((await (await fetch(shared.data.downloadUrl)).text()).trim(), 'x');
    await server.call('delete_file', { file_id });
    assert.equal((await fetch(shared.data.downloadUrl)).status, 410);
  });
});
