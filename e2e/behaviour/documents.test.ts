import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { backends, startServer, upload, type TestServer } from '../server.testing.ts';
import { recordProof } from '../../src/requirements.testing.ts';

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
    assert.equal((await fetched(reply.data.artifacts[0])).toString().trim(), '\u{13000}');
    recordProof('C11:one-failure-names-itself');
  });

  it('citations are compared with the bibliography', async () => {
    const { data } = await server.call('validate_citations', { documentContent, bibliographyContent });
    assert.deepEqual([data.valid, data.missing[0].key, data.unused], [false, 'nobody', []]);
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
