/** Jupyter notebooks as HTML for a preview: Markdown, code, printed output, errors and pictures, never their HTML. */
import { z } from 'zod';
import { html, nothing, type Html } from '../html/html.ts';
import { renderMarkdown } from './markdown.ts';

const maxCells = 200;
const maxOutputs = 20;
const maxOutputCharacters = 20_000;

const notebookTextSchema = z
  .union([z.string(), z.array(z.string())])
  .transform((text) => (typeof text === 'string' ? text : text.join('')));

const outputSchema = z.object({
  output_type: z.string(),
  text: notebookTextSchema.optional().catch(undefined),
  data: z.record(z.string(), notebookTextSchema.catch('')).optional().catch(undefined),
  ename: z.string().optional().catch(undefined),
  evalue: z.string().optional().catch(undefined),
});

const cellSchema = z.object({
  cell_type: z.string(),
  source: notebookTextSchema.catch(''),
  execution_count: z.number().nullish().catch(null),
  outputs: z.array(outputSchema).optional().catch(undefined),
});

const notebookSchema = z.object({ cells: z.array(cellSchema) });

type Cell = z.output<typeof cellSchema>;
type Output = z.output<typeof outputSchema>;

/** Throws where it is not a notebook. */
export function renderNotebook(text: string): Html {
  const { cells } = notebookSchema.parse(JSON.parse(text));
  const more = cells.length - maxCells;
  return html`<figure>
    ${cells.slice(0, maxCells).map(renderNotebookCell)}
    ${more > 0 ? html`<figcaption>And ${more} more cells. Download the file for all.</figcaption>` : nothing}
  </figure>`;
}

function renderNotebookCell({ cell_type, source, execution_count, outputs = [] }: Cell): Html {
  if (cell_type === 'markdown')
    return html`<div class="cell">
      <div class="mark"></div>
      ${renderMarkdown(source)}
    </div>`;
  return html`<div class="cell">
    <div class="mark">${cell_type === 'code' ? `[${execution_count ?? ' '}]` : nothing}</div>
    <div>
      <pre tabindex="0"><code>${source}</code></pre>
      ${outputs.slice(0, maxOutputs).map(renderNotebookOutput)}
    </div>
  </div>`;
}

function renderNotebookOutput({ output_type, text, data = {}, ename, evalue }: Output): Html {
  const picture = ['image/png', 'image/jpeg'].find((type) => isBase64(data[type]));
  if (picture !== undefined)
    return html`<p>
      <img alt="Output of the cell" src="data:${picture};base64,${data[picture]!.replaceAll(/\s/g, '')}" />
    </p>`;
  const shown =
    output_type === 'error' ? `${ename ?? 'Error'}: ${evalue ?? ''}` : (text ?? data['text/plain']);
  if (shown === undefined || shown === '') return html`${nothing}`;
  const cut = shown.length > maxOutputCharacters ? `${shown.slice(0, maxOutputCharacters)}…` : shown;
  return html`<pre tabindex="0" class="output">${cut}</pre>`;
}

const isBase64 = (text: string | undefined): boolean =>
  text !== undefined && /^[A-Za-z0-9+/=\s]+$/.test(text);
