import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { findPandocProgram, isVersionAtLeast } from '../../../src/features/documents/pandoc/system.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { run, temporaryFolder } from '../cli/program.testing.ts';
import { startServer } from '../../server.testing.ts';

const program = await findPandocProgram('pandoc').catch(() => null);

it(
  'a Pandoc on PATH is used when asked for, and one that is too old says which one PDF needs',
  { skip: program === null && 'there is no pandoc on PATH' },
  async () => {
    await using server = await startServer({ pandoc: 'pandoc', maxDocuments: 1 });
    const { failed, text, data } = await server.call('build_exports_content', {
      documentContent: '---\ntitle: Rays\n---\n\nAs [@a] says, $x^2$.',
      bibliographyContent: '@book{a, author={Curie, Marie}, title={Rayons}, year={1898}}',
      formats: ['docx', 'html', 'pdf'],
    });
    assert.equal(failed, false, text);
    const built = data.artifacts.map(({ format }: { format: string }) => format);
    if (!isVersionAtLeast(program!.version, '3.1.2')) {
      assert.deepEqual(built, ['docx', 'html']);
      assert.deepEqual([data.failures[0].format, data.failures[0].code], ['pdf', 'unsupported']);
      assert.match(data.failures[0].message, /3\.1\.2 or later/);
    } else assert.deepEqual(built, ['docx', 'html', 'pdf']);
    const page = await (await fetch(data.artifacts[1].downloadUrl)).text();
    assert.match(page, /Curie, Marie\. 1898/);
    recordProof('C12:pandoc-on-path-when-asked');
  },
);

it('what is called pandoc on PATH is started when asked for, and not otherwise', async () => {
  await using folder = await temporaryFolder();
  const standIn =
    '#!/bin/sh\n[ "$1" = --version ] && echo "pandoc 3.1.3" && exit\necho "It was started." >&2; exit 97\n';
  await writeFile(join(folder.path, 'pandoc'), standIn, { mode: 0o755 });
  await writeFile(join(folder.path, 'a.md'), '# Rays\n');
  const words = ['build', 'a.md', '--to', 'html', '--output', '.'];
  const options = { cwd: folder.path, env: { PATH: `${folder.path}:${process.env['PATH']}` } };
  const asked = await run([...words, '--pandoc', 'pandoc'], options);
  assert.equal(asked.code, 1);
  assert.match(asked.stderr, /It was started\./);
  const usual = await run(words, options);
  assert.deepEqual([usual.code, usual.stderr], [0, '']);
  recordProof('C12:pandoc-on-path-when-asked');
});
