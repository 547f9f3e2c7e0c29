import type { Layout, Picture } from '../document.ts';
import { pictureKind } from '../picture-kind.ts';
import { htmlTemplate } from './html-template.ts';
import { titleOf } from './title.ts';
import { treeOf } from './tree.ts';
import { warningsFrom } from './warnings.ts';
import { wordsOf } from './words.ts';
import type { Result, Work } from './work.ts';

/** One file, with everything in it. */
export async function writeHtml({ prepared, engines, signal }: Work): Promise<Result> {
  const { layout, ast, pictures } = prepared;
  const options = {
    from: 'json',
    to: 'html5',
    standalone: true,
    template: 'page.html',
    'html-math-method': { method: 'mathml' },
    'table-of-contents': layout.toc,
    'number-sections': layout.numberSections,
    variables: { pagetitle: markup(titleOf(layout, treeOf(ast))), ...variablesOf(layout) },
  };
  const files = { 'page.html': htmlTemplate };
  const { output, warnings } = await engines.pandoc.convert({ options, input: ast, files }, signal);
  return { bytes: embedded(output, pictures), warnings: warningsFrom(warnings) };
}

function variablesOf(layout: Layout): Record<string, string> {
  const words = wordsOf(layout.language);
  return {
    paper: layout.paper === 'a4' ? 'A4' : 'letter',
    'margin-mm': layout.marginMm.toFixed(1),
    'font-size-pt': layout.fontSizePt.toFixed(1),
    'figure-word': words.figure,
    'table-word': words.table,
    'contents-word': words.contents,
    ...(rightToLeft.test(layout.language) ? { dir: 'rtl' } : {}),
  };
}

const rightToLeft = /^(?:ar|fa|he|ps|sd|ug|ur|yi)(?:-|$)/i;

/** Variables stand in the page as they are. */
function markup(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** Put in here, where base64 costs little, rather than by Pandoc. In text and attributes its writer escapes `<`. */
function embedded(html: Uint8Array, pictures: readonly Picture[]): Uint8Array {
  const uris = new Map(pictures.map((picture) => [picture.name, dataUri(picture)]));
  const page = Buffer.from(html).toString('utf8');
  return Buffer.from(
    page.replace(/<img\b[^>]*>/g, (tag) =>
      tag.replace(/ src="([^"]*)"/, (_, name: string) => ` src="${uris.get(name) ?? ''}"`),
    ),
  );
}

function dataUri({ bytes }: Picture): string {
  const { mediaType } = pictureKind(bytes) ?? { mediaType: 'application/octet-stream' };
  return `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`;
}
