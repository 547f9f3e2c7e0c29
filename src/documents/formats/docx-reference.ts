import type { Part } from './archive.ts';
import { pageOf, textScale } from './page.ts';
import { edited } from './parts.ts';
import type { Look } from './reference.ts';

const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const FOOTER = 'word/footer1.xml';
const FOOTER_ID = 'rIdFooter';

/** Pandoc's own DOCX with a page, page numbers, rules at tables and a ground for code. */
export function changeDocx(parts: readonly Part[], look: Look): readonly Part[] {
  const page = edited(parts, 'word/document.xml', (text) =>
    text.replace(/<w:sectPr[\s\S]*?<\/w:sectPr>|<w:sectPr\s*\/>/, sectionOf(look)),
  );
  const styled = edited(page, 'word/styles.xml', (text) => withStyles(scaled(text, textScale(look)), look));
  const related = edited(styled, 'word/_rels/document.xml.rels', (text) =>
    text.replace(
      '</Relationships>',
      `<Relationship Id="${FOOTER_ID}" Type="${RELATIONSHIPS}/footer" Target="footer1.xml"/></Relationships>`,
    ),
  );
  const typed = edited(related, '[Content_Types].xml', (text) =>
    text.replace('</Types>', `<Override PartName="/${FOOTER}" ContentType="${footerType}"/></Types>`),
  );
  return [...typed, { name: FOOTER, bytes: Buffer.from(footer) }];
}

const footerType = 'application/vnd.openxmlformats-officedocument.wordprocessingml.footer+xml';

const footer = `<?xml version="1.0" encoding="UTF-8"?><w:ftr xmlns:w="${WORD}"><w:p><w:pPr><w:jc w:val="center"/></w:pPr><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> PAGE </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>1</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p></w:ftr>`;

/** In twentieths of a point. */
function twips(mm: number): number {
  return Math.round((mm / 25.4) * 1440);
}

function sectionOf(look: Look): string {
  const { width, height, margin } = pageOf(look);
  const side = twips(margin);
  const edge = Math.round(side / 2);
  return [
    `<w:sectPr><w:footerReference w:type="default" r:id="${FOOTER_ID}"/>`,
    '<w:footnotePr><w:numRestart w:val="continuous"/></w:footnotePr>',
    `<w:pgSz w:w="${twips(width)}" w:h="${twips(height)}"/>`,
    `<w:pgMar w:top="${side}" w:right="${side}" w:bottom="${side}" w:left="${side}"`,
    ` w:header="${edge}" w:footer="${edge}" w:gutter="0"/></w:sectPr>`,
  ].join('');
}

/** All sizes of text, which are in half points. */
function scaled(styles: string, scale: number): string {
  return styles.replace(
    /(<w:sz(?:Cs)? w:val=")(\d+)"/g,
    (_, start: string, size: string) => `${start}${Math.max(2, Math.round(Number(size) * scale))}"`,
  );
}

function withStyles(styles: string, look: Look): string {
  const references = look.hangingReferences
    ? inStyle(styles, 'Bibliography', (style) =>
        style.replace(/<w:pPr\s*\/>/, '<w:pPr><w:ind w:left="567" w:hanging="567"/></w:pPr>'),
      )
    : styles;
  const tables = inStyle(references, 'Table', (style) =>
    style
      .replace(/(<w:tblInd [^>]*>)/, `$1${tableRules}`)
      .replace(/(<w:tblStylePr w:type="firstRow">)/, '$1<w:rPr><w:b/></w:rPr>'),
  );
  const further = furtherStyles(look);
  const without = further.reduce((all, { id }) => inStyle(all, id, () => ''), tables);
  return without.replace('</w:styles>', `${further.map(({ style }) => style).join('')}</w:styles>`);
}

function inStyle(styles: string, id: string, change: (style: string) => string): string {
  return styles.replace(/<w:style [\s\S]*?<\/w:style>/g, (style) =>
    style.slice(0, style.indexOf('>')).includes(`w:styleId="${id}"`) ? change(style) : style,
  );
}

const tableRules =
  '<w:tblBorders><w:top w:val="single" w:sz="8" w:space="0" w:color="auto"/><w:bottom w:val="single" w:sz="8" w:space="0" w:color="auto"/></w:tblBorders>';

/** Styles that Pandoc names and leaves to whoever opens the file, or has without a ground. */
function furtherStyles(look: Look): { readonly id: string; readonly style: string }[] {
  const { width, margin } = pageOf(look);
  const tab = `<w:tabs><w:tab w:val="right" w:leader="dot" w:pos="${twips(width - 2 * margin)}"/></w:tabs>`;
  const code =
    '<w:style w:type="paragraph" w:customStyle="1" w:styleId="SourceCode"><w:name w:val="Source Code"/><w:basedOn w:val="Normal"/><w:link w:val="VerbatimChar"/><w:pPr><w:shd w:val="clear" w:color="auto" w:fill="F5F5F5"/><w:wordWrap w:val="off"/><w:spacing w:before="160" w:after="160"/></w:pPr></w:style>';
  const contents = [1, 2, 3].map((level) => ({
    id: `TOC${level}`,
    style: `<w:style w:type="paragraph" w:styleId="TOC${level}"><w:name w:val="toc ${level}"/><w:basedOn w:val="Normal"/><w:next w:val="Normal"/><w:uiPriority w:val="39"/><w:unhideWhenUsed/><w:pPr>${tab}<w:spacing w:before="0" w:after="60"/><w:ind w:left="${(level - 1) * 284}"/></w:pPr></w:style>`,
  }));
  return [{ id: 'SourceCode', style: code }, ...contents];
}
