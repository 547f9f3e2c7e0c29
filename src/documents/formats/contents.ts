import { entriesOf, type Entry } from './headings.ts';
import { escaped } from './parts.ts';
import { noAttributes, type Block, type Inline } from './tree.ts';
import { wordsOf } from './words.ts';

/*
 * Pandoc leaves the table of contents of DOCX and ODT empty: it has only instructions, which Word follows when it opens
 * the file, and others when they are told to. Ours has the same instructions, and lines that are there already.
 */

interface ContentsOptions {
  readonly language: string;
  readonly numbered: boolean;
}

export function docxContents(blocks: readonly Block[], options: ContentsOptions): Block[] {
  const entries = entriesOf(blocks, options.numbered);
  if (entries.length === 0) return [...blocks];
  const title = styled('TOC Heading', [{ t: 'Str', c: wordsOf(options.language).contents }]);
  const lines = entries.map((entry, at) => {
    const begin = at === 0 ? [openxml(fieldBegin)] : [];
    const end = at === entries.length - 1 ? [openxml(fieldEnd)] : [];
    return styled(`toc ${entry.level}`, [...begin, linkTo(entry), ...end]);
  });
  return [title, ...lines, ...blocks];
}

const fieldBegin =
  '<w:r><w:fldChar w:fldCharType="begin" w:dirty="true"/></w:r><w:r><w:instrText xml:space="preserve"> TOC \\o "1-3" \\h \\z \\u </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>';
const fieldEnd = '<w:r><w:fldChar w:fldCharType="end"/></w:r>';

function openxml(text: string): Inline {
  return { t: 'RawInline', c: ['openxml', text] };
}

function styled(style: string, inlines: Inline[]): Block {
  return { t: 'Div', c: [['', [], [['custom-style', style]]], [{ t: 'Para', c: inlines }]] };
}

function linkTo({ id, number, inlines }: Entry): Inline {
  const start: Inline[] = number === null ? [] : [{ t: 'Str', c: number }, { t: 'Space' }];
  return { t: 'Link', c: [noAttributes, [...start, ...inlines], [`#${id}`, '']] };
}

export function odtContents(blocks: readonly Block[], options: ContentsOptions): Block[] {
  const entries = entriesOf(blocks, options.numbered);
  if (entries.length === 0) return [...blocks];
  const title = escaped(wordsOf(options.language).contents);
  const text = [
    '<text:table-of-content text:name="Contents"><text:table-of-content-source text:outline-level="3">',
    `<text:index-title-template text:style-name="Contents_20_Heading">${title}</text:index-title-template>`,
    ...[1, 2, 3].map(entryTemplate),
    '</text:table-of-content-source><text:index-body>',
    `<text:index-title text:name="Contents_Head"><text:p text:style-name="Contents_20_Heading">${title}</text:p></text:index-title>`,
    ...entries.map(odtLine),
    '</text:index-body></text:table-of-content>',
  ];
  return [{ t: 'RawBlock', c: ['opendocument', text.join('')] }, ...blocks];
}

function entryTemplate(level: number): string {
  return `<text:table-of-content-entry-template text:outline-level="${level}" text:style-name="Contents_20_${level}"><text:index-entry-link-start/><text:index-entry-text/><text:index-entry-link-end/><text:index-entry-tab-stop style:type="right" style:leader-char="."/><text:index-entry-page-number/></text:table-of-content-entry-template>`;
}

function odtLine({ level, id, number, text }: Entry): string {
  const words = number === null ? text : `${number} ${text}`;
  return `<text:p text:style-name="Contents_20_${level}"><text:a xlink:type="simple" xlink:href="#${escaped(id)}">${escaped(words)}</text:a></text:p>`;
}
