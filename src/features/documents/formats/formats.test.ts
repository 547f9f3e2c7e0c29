import assert from 'node:assert/strict';
import { basename, extname } from 'node:path';
import { after, test } from 'node:test';
import type { DocumentFormat, WrittenDocument } from '../document.ts';
import { packArchive } from './archive.ts';
import {
  layout,
  never,
  openEngines,
  partsOf,
  pictures,
  preparedFrom,
  specimen,
  textOf,
  writeSpecimen,
  writeText,
} from './formats.testing.ts';
import { writeFormat } from './formats.ts';
import { epubcheck, libreOfficeTexts, missing } from './readers.testing.ts';
import { listPictureWarnings, summarizePandocWarnings } from './work.ts';

const engines = openEngines();
after(() => engines[Symbol.asyncDispose]());

const written = new Map<DocumentFormat, Promise<WrittenDocument>>();

/** Each is written once. */
function specimenIn(format: DocumentFormat): Promise<WrittenDocument> {
  const one = written.get(format) ?? writeSpecimen(format, engines);
  written.set(format, one);
  return one;
}

test('DOCX has the paper, the margins, the size of text and the language that are wanted', async () => {
  const { bytes, extension, warnings } = await specimenIn('docx');
  const parts = await partsOf(bytes);
  const [document, styles] = ['word/document.xml', 'word/styles.xml'].map((name) => parts.get(name) ?? '');
  assert.match(document!, /<w:pgSz w:h="16838" w:w="11906" \/>/);
  assert.match(document!, /<w:pgMar [^>]*w:left="1134"/);
  assert.match(styles!, /<w:docDefaults>[\s\S]*?<w:sz w:val="20" \/>[\s\S]*?w:val="en-GB"/);
  assert.match(parts.get('word/footer1.xml') ?? '', / PAGE /);
  assert.equal(extension, '.docx');
  assert.deepEqual(warnings, []);
  const ids = [...styles!.matchAll(/w:styleId="([^"]+)"/g)].map(([, id]) => id);
  assert.deepEqual(new Set(ids).size, ids.length, 'each style is there once');
});

test('contents of DOCX have lines before a program fills them, and pages break', async () => {
  const { bytes } = await specimenIn('docx');
  const document = (await partsOf(bytes)).get('word/document.xml') ?? '';
  assert.match(document, /w:pStyle w:val="TOC1" \/>.*TOC \\o "1-3".*<w:hyperlink w:anchor="first">.*1 First/);
  assert.match(document, /w:pStyle w:val="TOC2" \/>.*1\.1 Tables/);
  assert.match(document, /<w:br w:type="page"\/>/);
  assert.match(document, /<m:oMath>/);
  assert.match(document, /SEQ Figure/);
});

test('DOCX takes its styles from a reference document, and what is none is refused', async () => {
  const { bytes: reference } = await writeText('docx', engines, 'x', {
    layout: { ...layout, paper: 'letter', marginMm: 30 },
  });
  const { bytes } = await writeText('docx', engines, specimen, {
    referenceDoc: reference,
    pictures: [pictures.png],
  });
  assert.match((await partsOf(bytes)).get('word/document.xml') ?? '', /<w:pgSz w:h="15840" w:w="12240" \/>/);
  const others = [
    Buffer.from('no zip'),
    packArchive([{ name: 'word/document.xml', bytes: Buffer.from('<x/>') }]),
  ];
  for (const referenceDoc of others)
    await assert.rejects(writeText('docx', engines, 'x', { referenceDoc }), {
      code: 'document_invalid',
      message: /^The reference document is not a DOCX: /,
    });
});

test('ODT has page, contents, numbers, abstract and references', async () => {
  const parts = await partsOf((await specimenIn('odt')).bytes);
  const [content, styles] = ['content.xml', 'styles.xml'].map((name) => parts.get(name) ?? '');
  assert.match(styles!, /fo:margin-left="20mm"[^>]*fo:page-height="297mm" fo:page-width="210mm"/);
  assert.match(
    styles!,
    /<style:default-style style:family="paragraph">[\s\S]*?fo:country="GB" fo:font-size="10pt"/,
  );
  assert.match(content!, /<text:p text:style-name="Abstract">An/);
  assert.match(content!, /<text:p text:style-name="Contents_20_2"><text:a [^>]*"#tables">1\.1 Tables/);
  assert.match(content!, /<text:h [^>]*>[^\n]*1\.1 Tables/);
  assert.match(content!, /<text:p text:style-name="Page_20_break"/);
  assert.match(content!, /<text:p text:style-name="Bibliography"><text:bookmark text:name="ref-doe"/);
});

test('HTML is one file that fetches nothing and runs nothing', async () => {
  const { bytes, extension, warnings } = await specimenIn('html');
  const page = textOf(bytes);
  assert.match(
    page,
    /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;/,
  );
  assert.match(page, /<title>On &#60;Things&#62; &#38; &#34;more&#34;<\/title>/);
  assert.match(page, /<img\s[^>]*src="data:image\/png;base64,iVBOR/);
  assert.match(page, /<math display="block"/);
  assert.match(page, /<nav aria-label="Contents">/);
  assert.doesNotMatch(page, /<script|<link|src="(?!data:)|url\(|@import/);
  assert.deepEqual([extension, warnings], ['.html', []]);
});

test('EPUB is known by what it holds, and always has a title', async () => {
  const others = await writeText('epub', engines, 'Other, by nobody.', {
    layout: { ...layout, title: null },
  });
  const [one, other] = await Promise.all(
    [await specimenIn('epub'), others].map(async ({ bytes }) =>
      (await partsOf(bytes)).get('EPUB/content.opf'),
    ),
  );
  const identifier = /<dc:identifier [^>]*>(urn:uuid:[0-9a-f-]{36})</;
  assert.notEqual(identifier.exec(one ?? '')?.[1], identifier.exec(other ?? '')?.[1]);
  assert.match(one ?? '', /<dc:language>en-GB<[\s\S]*2001-09-09T01:46:40Z/);
  assert.match(other ?? '', />Document<\/dc:title>/);
});

test('an EPUB is told of a date that it cannot have', async () => {
  const { warnings } = await writeText('epub', engines, '---\ndate: one day in May\n---\n\nx');
  assert.deepEqual(warnings, [
    'An EPUB needs a date such as 2026-05-01; the date of this document was left out.',
  ]);
});

test('PDF is made of markup that compiles on its own beside its pictures', async () => {
  const pdf = await specimenIn('pdf');
  assert.equal(textOf(pdf.bytes.subarray(0, 5)), '%PDF-');
  assert.deepEqual(pdf.warnings, []);
  const { bytes, extension, mediaType } = await specimenIn('typst');
  assert.deepEqual([extension, mediaType], ['.typst.zip', 'application/zip']);
  const parts = await partsOf(bytes);
  assert.deepEqual([...parts.keys()], ['document.typ', 'picture-1.png']);
  const job = { source: parts.get('document.typ') ?? '', pdfA: false, findMissing: false };
  const files = { 'picture-1.png': pictures.png.bytes };
  assert.equal((await engines.typst.compile({ ...job, files }, never)).pages, 2);
});

test('characters that no font has are told', async () => {
  const { warnings } = await writeText('pdf', engines, '你好', { hasRareCharacters: true });
  assert.match(warnings.join(), /no glyph in any font: 你 好/);
});

test('LaTeX has its page from the layout, and comes with its pictures', async () => {
  const parts = await partsOf((await specimenIn('latex')).bytes);
  const source = parts.get('document.tex') ?? '';
  assert.match(source, /\\documentclass\[\s*british,\s*10pt,\s*a4paper,\s*\]\{article\}/);
  assert.match(source, /\\usepackage\[margin=20\.0mm\]\{geometry\}/);
  assert.match(source, /\\newpage/);
  const large = { ...layout, fontSizePt: 16, paper: 'letter' as const };
  const { bytes, extension } = await writeText('latex', engines, 'x', { layout: large });
  assert.match(textOf(bytes), /17pt,\s*letterpaper,\s*\]\{extarticle\}/);
  assert.equal(extension, '.tex');
});

test('Markdown and plain text keep the references as text', async () => {
  const markdown = (await partsOf((await specimenIn('markdown')).bytes)).get('document.md') ?? '';
  const plain = textOf((await specimenIn('plain')).bytes);
  for (const text of [markdown, plain]) assert.match(text, /Doe, John\. 2020\./);
  assert.match(markdown, /^\| one {2}\| +3\.14 \|$/m);
  assert.match(markdown, /!\[A plot\]\(picture-1\.png\)/);
  assert.doesNotMatch(markdown, /:::/);
  assert.match(plain, /^1\.1 Tables$/m);
  assert.match(plain, /An abstract of it all\./);
});

test('slides hold what fits, and say where they go on', async () => {
  const { bytes } = await specimenIn('pptx');
  const parts = await partsOf(bytes);
  const slides = [...parts].filter(([name]) => /^ppt\/slides\/slide\d+\.xml$/.test(name));
  const titled = slides.filter(([, text]) => text.includes('<a:t>Tables</a:t>'));
  assert.equal(titled.length, 2, 'the table, and the code after it');
});

test('a picture that the reader of a format may not show is told', async () => {
  const text = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><text>x</text></svg>');
  const { warnings } = await writeText('docx', engines, '![x](picture-1.svg)', {
    pictures: [{ ...pictures.svg, bytes: text }],
  });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /^plot\.svg is an SVG with text, .* Save it as PNG for this format\.$/);
  assert.match(listPictureWarnings('latex', [pictures.svg, pictures.png]).join(), /^plot\.svg is SVG: /);
  assert.deepEqual(listPictureWarnings('html', [pictures.svg]), []);
});

for (const format of ['docx', 'pptx'] as const)
  test(`an SVG in ${format} has a PNG beside it, for programs that show no SVG`, async () => {
    const text = '# A\n\n![x](picture-1.svg){width=50%}\n\n# B\n\n![y](picture-2.svg)';
    const given = { pictures: [pictures.svg, { ...pictures.svg, name: 'picture-2.svg' }] };
    const { bytes, warnings } = await writeText(format, engines, text, given);
    assert.deepEqual(warnings, []);
    const parts = await partsOf(bytes);
    const names = [...parts.keys()];
    assert.equal(new Set(names).size, names.length);
    const png = names.find((name) => /\/media\/svg-[0-9a-f]+\.png$/.test(name)) ?? '';
    assert.ok(names.some((name) => name.endsWith('.svg')));
    assert.ok(parts.get('[Content_Types].xml')?.includes(`PartName="/${png}" ContentType="image/png"`));
    const lists = [...parts].filter(([name, list]) => name.endsWith('.rels') && list.includes('.svg"'));
    const shown = lists.flatMap(([name, list]) => shownIn(parts.get(ownerOf(name)) ?? '', list));
    assert.deepEqual(
      shown.map(([main, beside]) => [basename(main), extname(beside)]),
      Array.from({ length: 2 }, () => [basename(png), '.svg']),
    );
    const again = await writeText(format, engines, text, given);
    assert.ok(Buffer.from(again.bytes).equals(bytes), 'byte for byte');
  });

const ownerOf = (list: string): string => list.replace('_rels/', '').replace(/\.rels$/, '');

/** Of each picture of a part what programs show, and what those show that know SVG. */
function shownIn(owner: string, list: string): [string, string][] {
  const target = (id: string): string => {
    const found = [...list.matchAll(/<Relationship [^>]*>/g)].filter(([tag]) => tag.includes(`Id="${id}"`));
    assert.equal(found.length, 1, id);
    return /Target="([^"]+)"/.exec(found[0]![0])![1]!;
  };
  const blips = owner.matchAll(/<a:blip r:embed="([^"]+)">.*?<asvg:svgBlip [^>]*r:embed="([^"]+)"/gs);
  return Array.from(blips, ([, main, beside]) => [target(main!), target(beside!)]);
}

test('plain text begins with its text, and Pandoc lacking words of a language is not told', async () => {
  const plain = await writeText('plain', engines, 'Text.', { layout: { ...layout, toc: false } });
  assert.match(textOf(plain.bytes), /^Text\./);
  const warnings = ['CouldNotLoadTranslations', 'NoTranslation'].map((type) => ({ type, message: 'x' }));
  assert.deepEqual(summarizePandocWarnings(warnings), []);
});

test('maths that is not understood is told, and does no harm', async () => {
  for (const format of ['pdf', 'html'] as const) {
    const { warnings } = await writeText(format, engines, '$\\nonsense{x} #read("/x")$');
    assert.match(
      warnings.join(),
      /^Maths that could not be converted is in the document as TeX: \\nonsense/,
      format,
    );
  }
});

test('with a fixed moment the same document is the same file, byte for byte', async () => {
  for (const format of ['pdf', 'docx', 'odt', 'epub', 'pptx', 'html', 'markdown'] as const) {
    const { bytes } = await writeSpecimen(format, engines);
    assert.ok(Buffer.from(bytes).equals((await specimenIn(format)).bytes), format);
  }
});

test('a format whose signal has fired is not begun', async () => {
  const prepared = await preparedFrom(engines, specimen);
  const reason = new Error('enough');
  await assert.rejects(writeFormat('docx', prepared, engines, AbortSignal.abort(reason)), reason);
});

test('what is in a DOCX is found again when it is read back', async () => {
  const { bytes } = await specimenIn('docx');
  const options = { from: 'docx', to: 'markdown-smart', wrap: 'none' };
  const { output } = await engines.pandoc.convert({ options, input: bytes }, never);
  const text = textOf(output);
  for (const part of [/^# 1\s+First/m, /^## 1\.1\s+Tables/m, /one +3\.14/, /\[\^1\]: What the note says/])
    assert.match(text, part);
  assert.match(text, /\$x\^\{?2\}? \+ \\alpha\$/);
  assert.match(text, /\\frac\{1\}\{2\}/);
  assert.match(text, /See \(Doe 2020\), `code`, Ωμέγα, Привет/);
  assert.match(text, /Doe, John\. 2020\. \*On Things\*/);
});

test('LibreOffice opens DOCX and ODT', { skip: missing('soffice') }, async () => {
  const [docx, odt] = await Promise.all([specimenIn('docx'), specimenIn('odt')]);
  const texts = libreOfficeTexts({ docx: docx.bytes, odt: odt.bytes });
  for (const [format, text] of Object.entries(texts))
    for (const part of [
      /On <Things> & "more"/,
      /Ada Byron/,
      /An abstract of it all/,
      /^Contents$/m,
      /^1\.1\s+Tables$/m,
      /^Table\s1: A caption$/m,
      /3\.14/,
      /^Figure\s1: A plot$/m,
      /Doe, John\. 2020\./,
    ])
      assert.match(text, part, format);
});

test('epubcheck finds no error in EPUB', { skip: missing('java', 'epubcheck') }, async () => {
  const { status, output } = epubcheck((await specimenIn('epub')).bytes);
  assert.equal(status, 0, output);
  assert.match(output, /0 errors \/ 0 warnings/);
});
