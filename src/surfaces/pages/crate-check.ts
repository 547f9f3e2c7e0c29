/** What a validation found in a crate: rules that must hold first, each with what to do and the entities that break it. */
import { html, nothing, type Html } from '../../platform/html/html.ts';

export interface CrateCheck {
  readonly crate_id: string;
  readonly valid: boolean;
  readonly checked_as: readonly string[];
  readonly attached: boolean;
  readonly findings: readonly Finding[];
  readonly notes: readonly string[];
}

interface Finding {
  readonly rule: string;
  readonly level: 'MUST' | 'SHOULD';
  readonly profile: string;
  readonly text: string;
  readonly remedy: string;
  readonly total: number;
  readonly count: number;
  readonly entities: readonly { readonly entity: string | null; readonly detail: string | null }[];
}

const levels = [
  ['MUST', 'Must be corrected'],
  ['SHOULD', 'Should be better'],
] as const;

export function renderCheck({ crate_id, valid, checked_as, attached, findings, notes }: CrateCheck): Html {
  const verdict = valid ? (findings.length === 0 ? 'Nothing to correct' : 'Valid') : 'Not valid';
  return html`<p><a href="/crates/${crate_id}">Back to the crate</a></p>
    <h1>Check by the rules</h1>
    <p role="status">
      <span class="state ${valid ? 'good' : 'bad'}">${verdict}</span> as ${checked_as.join(', ')},
      ${attached ? 'with its files' : 'metadata alone'}.
    </p>
    ${levels.map(([level, title]) => {
      const some = findings.filter((finding) => finding.level === level);
      return some.length === 0
        ? nothing
        : html`<h2>${title} <span class="muted">${some.length}</span></h2>
            ${some.map(renderFinding)}`;
    })}
    ${notes.map((note) => html`<p class="note">${note}</p>`)}`;
}

const renderFinding = ({ rule, profile, text, remedy, total, count, entities }: Finding): Html =>
  html`<section class="card result">
    <h3>${text}</h3>
    <p>${remedy}</p>
    <ul class="problems">
      ${entities.map(
        ({ entity, detail }) =>
          html`<li>
            ${entity === null ? 'The metadata as a whole' : html`<code>${entity}</code>`} ${detail ?? ''}
          </li>`,
      )}
      ${total > count ? html`<li class="muted">and ${total - count} more</li>` : nothing}
    </ul>
    <p class="facts"><span>${profile}</span> <span>${rule}</span></p>
  </section>`;
