/**
 * How pages are written: a tagged template that escapes every value, and the frame that all pages share. Nothing here
 * answers a request (`response.ts` does).
 */
import { html, raw } from 'hono/html';
import type { BrowserScript } from './browser-script.ts';
import { colours, style } from './style.ts';

export { html, raw } from 'hono/html';

/** A piece of HTML whose values are escaped. Pieces can be put into others, also in lists. */
export type Html = ReturnType<typeof html>;

/** Nothing, where a piece is left out. */
export const nothing = '';

export interface Page {
  readonly title: string;
  readonly body: Html;
  /** Links to other pages, beside the name of the program. */
  readonly navigation?: Html;
  /** The only script that the page runs; the policy of the answer has to allow it. */
  readonly script?: BrowserScript;
}

const crate = 'M3 7.5 12 3l9 4.5v9L12 21l-9-4.5z M3 7.5 12 12l9-4.5 M12 12v9';

const mark = raw(
  `<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round" aria-hidden="true"><path d="${crate}"/></svg>`,
);

/** In the page itself: a browser would ask for /favicon.ico otherwise. */
const icon = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="${colours.light.accent}" stroke-width="2" stroke-linejoin="round"><path d="${crate}"/></svg>`,
)}`;

/** Made by itself: its text has to be exactly that of the hash in the policy. */
const styleElement = raw(`<style>${style}</style>`);

/** A whole page. It needs no other file. */
export async function renderPage({ title, body, navigation, script }: Page): Promise<string> {
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <link rel="icon" href="${icon}" />
        <title>${title}</title>
        ${styleElement}
      </head>
      <body>
        <div class="frame">
          <header class="brand">${mark} <span>Workcrate</span> ${navigation ?? nothing}</header>
          <main>${body}</main>
        </div>
        ${script === undefined ? nothing : raw(`<script>${script.text}</script>`)}
      </body>
    </html> `;
  return page.toString();
}

/** A time as people read it, in UTC, which it says: the server does not know the reader's zone. */
export function renderTime(at: number): Html {
  const iso = new Date(at).toISOString();
  const shown = new Date(at).toLocaleString('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: 'UTC',
  });
  return html`<time datetime="${iso}">${shown} UTC</time>`;
}

/** A page that says in words why there is nothing else to see. */
export const renderMessage = (title: string, words: string): Promise<string> =>
  renderPage({
    title,
    body: html`<section class="card">
      <h1>${title}</h1>
      <p>${words}</p>
    </section>`,
  });
