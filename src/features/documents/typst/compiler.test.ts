import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createTypstCompiler } from './compiler.ts';
import { findTypstPackage, type TypstJob } from './typst.ts';

const compile = await createTypstCompiler({ url: findTypstPackage().url, fonts: [], epoch: 1_700_000_000 });

const job = (source: string, more: Partial<TypstJob> = {}): TypstJob => ({
  source: `#set text(font: ("Libertinus Serif", "No Such Family"), fallback: false)\n${source}`,
  files: {},
  pdfA: false,
  findMissing: false,
  ...more,
});

const refusal = (message: RegExp) => ({ code: 'document_failed', message });

it('a document becomes a PDF whose pages are counted, without a word about fonts that are not there', () => {
  const { pdf, pages, warnings, missing } = compile(job('One #pagebreak() two'));
  assert.equal(Buffer.from(pdf).toString('latin1', 0, 5), '%PDF-');
  assert.deepEqual([pages, warnings, missing], [2, [], []]);
});

it('a fixed moment gives equal bytes', () => {
  const [first, second] = [compile(job('= Title')), compile(job('= Title'))];
  assert.deepEqual(first.pdf, second.pdf);
  assert.match(Buffer.from(first.pdf).toString('latin1'), /2023-11-14T22:13:20/);
});

it('what goes wrong is told by its first reason, and names no place of the server', () => {
  assert.throws(() => compile(job('#image("picture-9.png")')), refusal(/: file not found$/));
  assert.throws(() => compile(job('#unknown')), refusal(/unknown variable: unknown/));
  assert.throws(() => compile(job('#let f(n) = f(n)\n#f(1)')), refusal(/nested too deeply/));
});

it('documents read nothing but what they are given, and it is gone with them', () => {
  const files = {
    'picture-1.svg': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
  };
  assert.equal(compile(job('#image("picture-1.svg")', { files })).pages, 1);
  assert.throws(() => compile(job('#image("picture-1.svg")')), refusal(/file not found/));
  for (const file of ['/etc/passwd', '../../etc/passwd', '../../../../../../../../etc/passwd'])
    assert.throws(() => compile(job(`#read("${file}")`)), { code: 'document_failed' });
});

it('a file has to have a plain name', () => {
  for (const name of ['../x', 'a/b', '.hidden', ''])
    assert.throws(() => compile(job('x', { files: { [name]: Buffer.from('x') } })), /Not a plain name/);
});

for (const [what, inside] of [
  ['a file by URL', '<image href="file:///etc/hostname" width="9" height="9"/>'],
  ['a file by path', '<image href="/etc/hostname" width="9" height="9"/>'],
  ['a file beside it', '<image href="picture-2.png" width="9" height="9"/>'],
  ['a picture of the network', '<image href="http://127.0.0.1:1/x.png" width="9" height="9"/>'],
  ['an external entity', '<text>&outside;</text>'],
] as const)
  it(`a picture that wants ${what} is refused`, () => {
    const entity = '<!DOCTYPE svg [<!ENTITY outside SYSTEM "file:///etc/hostname">]>';
    const svg = `${entity}<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${inside}</svg>`;
    const files = { 'picture-1.svg': Buffer.from(svg) };
    assert.throws(() => compile(job('#image("picture-1.svg")', { files })), refusal(/in SVG|parse SVG/));
  });

it('characters that no font has are listed once each, and the PDF is made', () => {
  const { pdf, missing } = compile(job('你好你 and 🎉', { findMissing: true }));
  assert.deepEqual(missing, ['你', '好', '🎉']);
  assert.ok(pdf.length > 1000);
});

it('Greek, Cyrillic and maths are there', () => {
  const { missing } = compile(job('Ωμέγα ἀρχῇ Привет ≤ $ integral_0^oo x^2 $', { findMissing: true }));
  assert.deepEqual(missing, []);
});

it('PDF/A says that it is, and refuses characters that no font has, with the remedy', () => {
  const { pdf } = compile(job('An archive.', { pdfA: true }));
  assert.match(Buffer.from(pdf).toString('latin1'), /<pdfaid:part>2</);
  const wanted = job('中', { pdfA: true });
  assert.throws(() => compile(wanted), refusal(/PDF\/A could not be made: 1 character .* 中\..*npm install/));
});

it('a compiler that is not there is told of by the command that installs it', async () => {
  const elsewhere = { url: 'file:///nowhere/index.js', fonts: [], epoch: null };
  await assert.rejects(createTypstCompiler(elsewhere), {
    code: 'documents_unavailable',
    message: /npm install @myriaddreamin\/typst-ts-node-compiler$/,
  });
});
