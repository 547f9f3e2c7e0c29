/**
 * Documents: Markdown that is typed here, built by the tools and shown beside it. The text is nowhere but in the form: every
 * answer has it again, also where it could not be built.
 */
import type { Hono } from 'hono';
import { asWorkcrateError, publicMessage } from '../../platform/errors.ts';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import {
  renderBuilt,
  renderCitations,
  renderFailure,
  type BuiltDocument,
  type TypedTexts,
} from './built-document.ts';
import { exampleBibliography, exampleDocument } from './example-document.ts';
import { type Visitor, demandOwnForm, type Routing } from './routing.ts';

/** What the form has, and has again in the answer. */
interface DocumentDraft extends TypedTexts {
  readonly style: string;
  readonly name: string;
  readonly formats: readonly string[];
}

const formats = [
  ['pdf', 'PDF'],
  ['docx', 'Word'],
  ['html', 'HTML'],
  ['odt', 'ODT'],
  ['epub', 'EPUB'],
  ['pptx', 'Slides'],
  ['latex', 'LaTeX'],
  ['typst', 'Typst'],
  ['markdown', 'Markdown'],
  ['plain', 'Plain text'],
] as const;

const styles = ['chicago-author-date', 'apa', 'harvard', 'ieee', 'mla', 'nature', 'vancouver'];

const usual = { style: styles[0]!, name: 'document', formats: ['pdf'] };
const example: DocumentDraft = { ...usual, text: exampleDocument, bibliography: exampleBibliography };
const empty: DocumentDraft = { ...usual, text: '', bibliography: '' };

/** A form has up to three bytes for one of its text. */
const mostFormBytes = 12 * 1024 ** 2;

export function addDocumentRoutes(routes: Hono, routing: Routing): void {
  const { tools, tokens, show, submit } = routing;
  routes.get(
    '/documents',
    show('/documents', 'Documents', async (visitor, token, { req }) => {
      const [mayBuild, isEmpty] = [
        await tools.has(visitor, 'build_exports_content'),
        req.query('empty') !== undefined,
      ];
      const outcome = mayBuild ? nothing : renderFailure(example, notAllowed);
      return renderDocuments(isEmpty ? empty : example, token, outcome);
    }),
  );
  routes.post(
    '/documents',
    submit('/documents', 'Documents', mostFormBytes, async (visitor, token, form) => {
      const draft = readDraft(form);
      try {
        demandOwnForm(tokens, visitor.caller.user, form);
        return await renderDocuments(draft, token, await act(routing, visitor, draft, form.get('act')));
      } catch (cause) {
        return renderDocuments(draft, token, renderFailure(draft, publicMessage(asWorkcrateError(cause))));
      }
    }),
  );
}

const notAllowed =
  'What you signed in with is not good for documents: ask for a key with the scope documents.';

async function act({ tools }: Routing, visitor: Visitor, draft: DocumentDraft, what: unknown): Promise<Html> {
  const { text, bibliography, style, name, formats: wanted } = draft;
  const given = {
    documentContent: text,
    ...(bibliography.trim() === '' ? {} : { bibliographyContent: bibliography }),
  };
  if (what === 'check') return renderCitations(draft, await tools.call(visitor, 'validate_citations', given));
  const wish = { ...given, style, outputBasename: name, formats: wanted };
  const built: BuiltDocument = await tools.call(visitor, 'build_exports_content', wish);
  return renderBuilt(built);
}

/** A browser sends lines with CR LF, and the tools count what they get. */
function readDraft(form: FormData): DocumentDraft {
  const read = (name: string): string => {
    const value = form.get(name);
    return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : '';
  };
  return {
    text: read('text'),
    bibliography: read('bibliography'),
    style: read('style') || usual.style,
    name: read('name') || usual.name,
    formats: form.getAll('formats').filter((format) => typeof format === 'string'),
  };
}

function renderDocuments(draft: DocumentDraft, token: string, outcome: Html | ''): Html {
  return html`<h1>Documents</h1>
    <div class="desk">
      ${renderEditor(draft, token)}
      <section id="result" class="outcome" aria-label="Result">
        ${outcome === nothing ? renderNothingYet() : outcome}
      </section>
    </div>`;
}

const renderNothingYet = (): Html =>
  html`<div class="drop">
    <p>Build, and the PDF is shown here, with a link for each format.</p>
    <p class="muted">
      Pictures are named as among your <a href="/library">files</a>: <code>![A plot](plot.png)</code>
    </p>
  </div>`;

/** Browsers drop a line break at the beginning of a field: this one, and not one that was typed. */
const renderField = (name: string, rows: number, typed: string): Html =>
  html`<textarea id="${name}" name="${name}" rows="${rows}">${`\n${typed}`}</textarea>`;

function renderEditor(
  { text, bibliography, style, name, formats: chosen }: DocumentDraft,
  token: string,
): Html {
  return html`<form class="editor" method="post" action="/documents#result">
    <input type="hidden" name="token" value="${token}" />
    <label for="text">Text in Markdown</label>
    ${renderField('text', 22, text)}
    <details ${bibliography === '' ? nothing : html`open`}>
      <summary>Bibliography</summary>
      <label for="bibliography">BibTeX, RIS or CSL: <code>[@key]</code> in the text cites an entry</label>
      ${renderField('bibliography', 7, bibliography)}
      <label for="style">Style of citations</label>
      <select id="style" name="style">
        ${styles.map((one) => html`<option ${one === style ? html`selected` : nothing}>${one}</option>`)}
      </select>
    </details>
    <fieldset>
      <legend>Formats</legend>
      ${formats.map(
        ([value, label]) =>
          html`<label
            ><input
              type="checkbox"
              name="formats"
              value="${value}"
              ${chosen.includes(value) ? html`checked` : nothing}
            />
            ${label}</label
          >`,
      )}
    </fieldset>
    <label for="name">Name of the files</label>
    <input id="name" type="text" name="name" value="${name}" maxlength="100" required />
    <div class="actions">
      <button name="act" value="build">Build</button>
      <button class="quiet" name="act" value="check">Check citations</button>
      <a href="/documents?empty">Start empty</a>
    </div>
  </form>`;
}
