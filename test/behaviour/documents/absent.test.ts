import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { findConfinement } from '../../../src/features/documents/confinement.ts';
import { fromSource, run, serve, temporaryFolder, upload } from '../cli/program.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const skip =
  (await findConfinement({ readable: [] })) === null && 'bubblewrap, which hides packages, does not work';
const packages = join(import.meta.dirname, '../../../node_modules');

/** The program in a world in which a folder of node_modules is empty. */
function without(folder: string): string[] {
  const hidden = ['--dev-bind', '/', '/', '--tmpfs', join(packages, folder)];
  return ['/usr/bin/bwrap', '--die-with-parent', ...hidden, '--', ...fromSource];
}

it('with nothing on PATH a document with a formula and a citation is built as PDF, DOCX, HTML and EPUB', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'a.md'), '---\ntitle: Rays\n---\n\nAs [@a] says, $x^2$.\n');
  const bib = '@book{a, author={Curie, Marie}, title={Rayons}, year={1898}}';
  await writeFile(join(folder.path, 'a.bib'), bib);
  const words = ['build', 'a.md', '--to', 'pdf,docx,html,epub', '--bibliography', 'a.bib', '--output', '.'];
  const env = { PATH: join(folder.path, 'nothing') };
  const { code, stdout, stderr } = await run(words, { cwd: folder.path, env });
  assert.equal(code, 0, stderr);
  for (const ending of ['pdf', 'docx', 'html', 'epub']) assert.match(stdout, new RegExp(`a\\.${ending}\\n`));
  recordProof('C12:only-the-npm-packages');
});

it(
  'without Pandoc’s package, building names the command that brings it, and other tools work',
  { skip },
  async () => {
    await using folder = await temporaryFolder();
    await using program = await serve(['--data', folder.path], { program: without('pandoc-wasm') });
    for (const [tool, more] of [
      ['build_exports_content', { formats: ['docx', 'pdf'] }],
      ['validate_citations', {}],
    ] as const) {
      const { failed, text } = await program.call(tool, { documentContent: 'x', ...more });
      assert.equal(failed, true);
      assert.match(text, /Run: npm install pandoc-wasm @bjorn3\/browser_wasi_shim/);
    }
    const { file_id } = await upload(program, 'a.txt', 'a');
    assert.equal((await program.call('list_files', {})).data.files[0].file_id, file_id);
  },
);

it('without Typst’s package, DOCX is built, and PDF names the command that brings it', { skip }, async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'a.md'), 'x');
  const words = ['build', 'a.md', '--to', 'pdf,docx', '--output', '.'];
  const { code, stdout, stderr } = await run(words, {
    program: without('@myriaddreamin'),
    cwd: folder.path,
  });
  assert.match(stdout, /a\.docx\n$/);
  assert.match(
    stderr,
    /^pdf could not be built: .*Run: npm install @myriaddreamin\/typst-ts-node-compiler$/m,
  );
  assert.equal(code, 1);
});
