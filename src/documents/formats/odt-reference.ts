import type { Part } from './archive.ts';
import { pageOf, textScale } from './page.ts';
import { edited } from './parts.ts';
import type { Look } from './reference.ts';

/** Pandoc's own ODT with a page, and styles that it lacks. */
export function changeOdt(parts: readonly Part[], look: Look): readonly Part[] {
  return edited(parts, 'styles.xml', (text) =>
    scaleOdtFont(text, textScale(look))
      .replace(/<style:page-layout-properties [^>]*>/g, (tag) => withPage(tag, look))
      .replace(
        /(style:name="Preformatted_20_Text"[^>]*>\s*<style:paragraph-properties )/,
        '$1fo:background-color="#f5f5f5" ',
      )
      .replace('</office:styles>', `${stylesFor(look)}</office:styles>`),
  );
}

function withPage(tag: string, look: Look): string {
  const { width, height, margin } = pageOf(look);
  return tag
    .replace(/fo:page-width="[^"]*"/, `fo:page-width="${width}mm"`)
    .replace(/fo:page-height="[^"]*"/, `fo:page-height="${height}mm"`)
    .replace(/(fo:margin-(?:top|bottom|left|right))="[^"]*"/g, `$1="${margin}mm"`);
}

function scaleOdtFont(styles: string, scale: number): string {
  return styles.replace(
    /(font-size(?:-asian|-complex)?=")([\d.]+)pt"/g,
    (_, start: string, size: string) => `${start}${Math.round(Number(size) * scale * 10) / 10}pt"`,
  );
}

function stylesFor({ hangingReferences }: Look): string {
  const hanging = hangingReferences ? 'fo:margin-left="10mm" fo:text-indent="-10mm"' : '';
  return [
    paragraphStyle('Page_20_break', 'Text_20_body', 'fo:break-after="page"'),
    paragraphStyle('Bibliography', 'Text_20_body', `fo:margin-bottom="2mm" ${hanging}`),
    paragraphStyle('Contents_20_Heading', 'Heading', ''),
    ...[1, 2, 3].map((level) =>
      paragraphStyle(`Contents_20_${level}`, 'Standard', `fo:margin-left="${(level - 1) * 5}mm"`),
    ),
  ].join('');
}

function paragraphStyle(name: string, parent: string, properties: string): string {
  const shown = name.replaceAll('_20_', ' ');
  return `<style:style style:name="${name}" style:display-name="${shown}" style:family="paragraph" style:parent-style-name="${parent}"><style:paragraph-properties ${properties}/></style:style>`;
}
