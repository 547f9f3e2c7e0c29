/** What came of packing a run: the new crate, its download, and all that is not in it. */
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { toOwnPath } from './routing.ts';

/** What pack_crate answers. */
export interface PackedAnswer {
  readonly crate_id: string;
  readonly filename: string;
  readonly downloadUrl: string;
  readonly notes: readonly string[];
}

export const renderPacked = (runId: string, { crate_id, filename, downloadUrl, notes }: PackedAnswer): Html =>
  html`<p><a href="/runs/${runId}">Back to the run</a></p>
    <section class="card made">
      <div>
        <h1>Packed as a crate</h1>
        <p class="facts"><span>${filename}</span></p>
        <div class="actions">
          <a class="button" href="/crates/${crate_id}">Look into the crate</a>
          <a href="${toOwnPath(downloadUrl)}">Download it</a>
        </div>
      </div>
    </section>
    ${
      notes.length === 0
        ? nothing
        : html`<h2>What to know about it</h2>
            <ul class="notes">
              ${notes.map((note) => html`<li>${note}</li>`)}
            </ul>`
    }`;
