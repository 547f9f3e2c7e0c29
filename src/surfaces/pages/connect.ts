/** How to connect a client: a line to copy, or a link that its app opens. */
import { html, nothing, type Html } from '../../platform/html/html.ts';

export interface ConnectLine {
  readonly client: string;
  /** A command, or a link of an app's own scheme. */
  readonly how: string;
}

const isDeepLink = ({ how }: ConnectLine): boolean => /^[a-z]+:/.test(how);

export function renderConnect(lines: readonly ConnectLine[]): Html {
  const [links, commands] = [lines.filter(isDeepLink), lines.filter((line) => !isDeepLink(line))];
  return html`<h1>Connect a client</h1>
    <p>Workcrate is a server for MCP. Tell your client where it is, then ask it to run something.</p>
    ${
      links.length === 0
        ? nothing
        : html`<section class="card">
            <h2 class="first">On a machine that has the app</h2>
            <div class="actions">
              ${links.map(({ client, how }) => html`<a class="button" href="${how}">Add to ${client}</a>`)}
            </div>
          </section>`
    }
    ${commands.length === 0 ? nothing : html`<h2>In a terminal</h2>`} ${commands.map(renderCommand)}`;
}

/** The button is there for those whose browser runs its script; others select the line. */
const renderCommand = ({ client, how }: ConnectLine): Html =>
  html`<section class="copy">
    <h3>${client}</h3>
    <pre tabindex="0"><code>${how}</code></pre>
    <button class="quiet small" type="button" hidden aria-label="Copy the line for ${client}">Copy</button>
  </section>`;
