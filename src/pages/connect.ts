/** How to connect a client: a line to copy, or a link that its app opens. */
import { html, type Html } from '../html/html.ts';

export interface ConnectLine {
  readonly client: string;
  /** A command, or a link of an app's own scheme. */
  readonly how: string;
}

export const renderConnect = (lines: readonly ConnectLine[]): Html =>
  html`<h1>Connect a client</h1>
    <p>Run the line in a terminal, or open the link on the machine that has the app.</p>
    ${lines.map(
      ({ client, how }) =>
        html`<h2>${client}</h2>
          ${
            /^[a-z]+:/.test(how)
              ? html`<p><a class="button" href="${how}">Add to ${client}</a></p>`
              : html`<pre tabindex="0">${how}</pre>`
          }`,
    )}`;
