import { hash } from 'node:crypto';
import type { Awaited } from '../ladder/awaited.ts';
import { pageScript } from './script.ts';

const style = `:root { color-scheme: light dark; font: 1.1rem/1.5 system-ui, sans-serif; }
body { max-width: 34rem; margin: 12vh auto; padding: 0 1rem; }
code { overflow-wrap: anywhere; }
input, button { font: inherit; display: block; margin: 1.2rem 0; max-width: 100%; }
button { padding: 0.4rem 1.6rem; }
`;

const source = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;

/** Nothing but this very script and style runs, it speaks to this server alone, and nobody frames it. */
const policy = [
  "default-src 'none'",
  `script-src ${source(pageScript)}`,
  `style-src ${source(style)}`,
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

export const pageHeaders: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': policy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

/** The page on which a person chooses what was asked for. It tells no more than the name. */
export function pageFor({ operation, name }: Pick<Awaited, 'operation' | 'name'>): string {
  const shown = `<code>${escaped(name)}</code>`;
  const [asks, input, empty] =
    operation === 'read'
      ? [`Workcrate asks for your file ${shown}.`, '<input type="file" aria-label="File">', '']
      : [
          `Workcrate asks what is in your folder ${shown}. Names, sizes and times are sent, no content.`,
          '<input type="file" webkitdirectory aria-label="Folder">',
          '<button type="button">The folder is empty</button>\n',
        ];
  return page(`<p>${asks} If you did not expect this, close the page.</p>
${input}
<button type="button" disabled>Send</button>
${empty}<output role="status"></output>
<script>${pageScript}</script>`);
}

/** For whoever comes to a page that is no longer, or never was. */
export const pageOf = (words: string): string => page(`<p>${escaped(words)}</p>`);

const page = (body: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>Send to Workcrate</title>
<style>${style}</style>
<h1>Send to Workcrate</h1>
${body}
</html>
`;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (mark) => entities[mark]!);
