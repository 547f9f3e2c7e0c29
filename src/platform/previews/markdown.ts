/**
 * Markdown as HTML for a preview. The library parses; what is written is escaped piece by piece, so that HTML in the
 * Markdown is shown as text and never becomes part of the page. How documents are built is in `features/documents/`.
 */
import { lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { html, nothing, type Html } from '../html/html.ts';

/** Throws where it is nested too deep. */
export const renderMarkdown = (text: string): Html =>
  html`<div class="prose">${renderTokens(lexer(text), 0)}</div>`;

const maxMarkdownDepth = 30;

function renderTokens(tokens: readonly Token[] | undefined, depth: number): Html[] {
  if (depth > maxMarkdownDepth) throw new RangeError('This Markdown is nested too deep.');
  return (tokens ?? []).map((token) => renderToken(token as MarkedToken, depth + 1));
}

function renderToken(token: MarkedToken, depth: number): Html {
  const inner = (): Html[] => renderTokens('tokens' in token ? token.tokens : [], depth);
  switch (token.type) {
    case 'heading':
      return renderHeading(token.depth, inner());
    case 'paragraph':
      return html`<p>${inner()}</p>`;
    case 'blockquote':
      return html`<blockquote>${inner()}</blockquote>`;
    case 'list':
      return renderMarkdownList(token, depth);
    case 'table':
      return renderMarkdownTable(token, depth);
    case 'code':
      return html`<pre tabindex="0"><code>${token.text}</code></pre>`;
    case 'codespan':
      return html`<code>${token.text}</code>`;
    case 'strong':
      return html`<strong>${inner()}</strong>`;
    case 'em':
      return html`<em>${inner()}</em>`;
    case 'del':
      return html`<del>${inner()}</del>`;
    case 'link':
      return renderMarkdownLink(token.href, inner());
    case 'image':
      return html`<em>${token.text === '' ? 'Picture' : token.text}</em>`;
    case 'br':
      return html`<br />`;
    case 'hr':
      return html`<hr />`;
    case 'checkbox':
      return html`${token.checked ? '☑ ' : '☐ '}`;
    case 'text':
      return 'tokens' in token && token.tokens !== undefined ? html`${inner()}` : html`${token.text}`;
    case 'escape':
      return html`${token.text}`;
    case 'space':
    case 'def':
      return html`${nothing}`;
    default:
      // HTML too: it is shown as it was written.
      return html`${token.raw}`;
  }
}

/** The name of the file is the heading of the page. */
function renderHeading(level: number, inner: Html[]): Html {
  if (level === 1) return html`<h2>${inner}</h2>`;
  return level === 2 ? html`<h3>${inner}</h3>` : html`<h4>${inner}</h4>`;
}

function renderMarkdownList({ ordered, start, items }: Tokens.List, depth: number): Html {
  const inner = items.map((item) => html`<li>${renderTokens(item.tokens, depth)}</li>`);
  if (!ordered)
    return html`<ul>
      ${inner}
    </ul>`;
  return html`<ol start="${start === '' ? 1 : start}">
    ${inner}
  </ol>`;
}

function renderMarkdownTable({ header, rows }: Tokens.Table, depth: number): Html {
  const cells = (row: readonly Tokens.TableCell[]): Html[][] =>
    row.map(({ tokens }) => renderTokens(tokens, depth));
  return html`<div class="scroll" tabindex="0">
    <table>
      <thead>
        <tr>
          ${cells(header).map((cell) => html`<th scope="col">${cell}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${cells(row).map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Only to the web: a relative address would lead to a file that is not here. */
function renderMarkdownLink(href: string, inner: Html[]): Html {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return html`${inner}`;
  return html`<a href="${href}" rel="noreferrer noopener nofollow" target="_blank">${inner}</a>`;
}
