/** What else is known of a run: under which limits it ran, whom it spoke to, which tools it called, what the guard decided. */
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { formatBytes, formatDuration } from '../../platform/text/text.ts';
import { listLimits } from '../../core/runs/describe-run.ts';
import type { ShownRun } from '../../core/runs/schema.ts';

const mostListed = 100;

export function renderFacts(run: ShownRun): Html {
  const { limits, network, guard, libraries } = run;
  const versions = Object.entries(libraries).map(([name, version]) => `${name} ${version}`);
  return html`<h2>About this run</h2>
    <dl class="about">
      ${renderFact('Limits', listLimits(limits).join(', '))}
      ${renderFact('Ran in', `${limits.runtime ?? run.language}, ${limits.sandbox}, ${run.working_dir}`)}
      ${limits.unenforced.length === 0 ? nothing : renderFact('Not enforced here', limits.unenforced.join(', '))}
      ${run.stdin_bytes === 0 ? nothing : renderFact('Standard input', formatBytes(run.stdin_bytes))}
      ${versions.length === 0 ? nothing : renderFact('Libraries', versions.join(', '))}
      ${run.script === null ? nothing : renderFact('Script', run.script)}
      ${run.trace_id === null ? nothing : renderFact('Trace', run.trace_id)}
      ${renderFact('Asked for by', run.tool)} ${renderFact('Id', html`<code>${run.execution_id}</code>`)}
      ${network === null ? nothing : renderFact('Network', renderNetwork(network))}
      ${(guard ?? []).map(({ when, verdict, rules, reason }) =>
        renderFact(
          `Guard, ${when}`,
          [verdict, ...rules.map(({ rule, count }) => `${rule} (${count})`), reason ?? '']
            .filter(Boolean)
            .join(', '),
        ),
      )}
    </dl>
    ${renderToolCalls(run.tool_calls)}`;
}

const renderFact = (name: string, value: Html | string): Html =>
  html`<dt>${name}</dt>
    <dd>${value}</dd>`;

function renderNetwork({ hosts, refused, more }: NonNullable<ShownRun['network']>): Html {
  if (hosts.length + refused.length === 0) return html`It spoke to nobody.`;
  return html`<ul class="plain">
    ${hosts
      .slice(0, mostListed)
      .map(
        ({ host, port, requests, sent_bytes, received_bytes }) =>
          html`<li>
            ${host}:${port}: ${requests} ${requests === 1 ? 'request' : 'requests'},
            ${formatBytes(sent_bytes)} sent, ${formatBytes(received_bytes)} received
          </li>`,
      )}
    ${refused
      .slice(0, mostListed)
      .map(
        ({ host, port, why, count }) =>
          html`<li>
            <span class="state bad">refused</span> ${host}${port === null ? '' : `:${port}`}, ${why}, ${count}
            ×
          </li>`,
      )}
    ${more === 0 ? nothing : html`<li>and ${more} more</li>`}
  </ul>`;
}

function renderToolCalls(called: ShownRun['tool_calls']): Html {
  if (called === null || called.count === 0) return html`${nothing}`;
  const { count, calls } = called;
  return html`<h2>Tools that its code called</h2>
    <ol class="calls">
      ${calls.map(
        ({ tool, outcome, ms }) =>
          html`<li>
            <code>${tool}</code> <span class="state ${outcome === 'ok' ? 'good' : 'bad'}">${outcome}</span>
            <span class="muted">${formatDuration(ms)}</span>
          </li>`,
      )}
    </ol>
    ${count > calls.length ? html`<p class="muted">And ${count - calls.length} more.</p>` : nothing}`;
}
