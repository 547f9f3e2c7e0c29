/** How the server is: what needs a look first, in large figures, then when it last looked after itself, then plots. */
import { html, nothing, renderTime, type Html } from '../../platform/html/html.ts';
import type { PlottedHistory } from '../../platform/observability/history.ts';
import { countThings, formatBytes, formatCount, formatDuration } from '../../platform/text/text.ts';
import { renderBar } from './bar.ts';
import type { OperatorStatus, SyncedSource } from './operate-access.ts';
import { renderPlot } from './plot.ts';

export function renderOperatorStatus(
  status: OperatorStatus,
  history: PlottedHistory,
  isShared: boolean,
): Html {
  const { version, node, ready, notReadyBecause } = status;
  return html`<h1>Health</h1>
    <p class="facts">
      <span class="state ${ready ? 'good' : 'bad'}">${ready ? 'ready' : 'not ready'}</span>
      <span>Workcrate ${version} on Node ${node}</span>
    </p>
    ${notReadyBecause === null ? nothing : html`<p class="note failed" role="alert">${notReadyBecause}</p>`}
    <div class="tiles">${renderTiles(status)}</div>
    ${renderTrouble(status)} ${renderPlots(status, history)}
    <h2>Looked after</h2>
    <div class="cards">
      <section class="card told">
        <dl>
          <dt>Last sweep</dt>
          <dd>${status.sweptAt === null ? 'none yet since the start' : renderTime(status.sweptAt)}</dd>
          <dt>Last backup</dt>
          <dd>${renderBackup(status)}</dd>
          <dt>Crates synced</dt>
          <dd>${renderSources(status.sources)}</dd>
        </dl>
      </section>
      <section class="card told">
        <dl>
          ${status.backends.map(
            ([what, which]) =>
              html`<dt>${what}</dt>
                <dd>${which}</dd>`,
          )}
        </dl>
      </section>
    </div>
    ${
      isShared
        ? html`<p class="note">
            Several servers can share this database. Readiness, running now, transfers, errors, plots, disk
            and the audit log are those of the server named above; users, stored files, links and the list of
            running code are of all.
          </p>`
        : nothing
    }`;
}

function renderTiles(status: OperatorStatus): Html {
  const { disk, files, runs, users, activeLinks, transfers, trouble, startedAt, now } = status;
  const failed = Object.values(trouble.errors).reduce((sum, count) => sum + count, 0);
  return html`${
    disk === null
      ? renderTile('Disk', 'unknown', 'its file system did not answer')
      : renderTile(
          'Disk free',
          formatBytes(disk.freeBytes),
          `of ${formatBytes(disk.totalBytes)}`,
          renderBar(disk.totalBytes - disk.freeBytes, disk.totalBytes),
        )
  }
  ${renderTile(
    'Stored files',
    formatBytes(files.bytes),
    `of ${formatBytes(files.mostBytes)}, in ${countThings(files.count, 'file')}`,
    renderBar(files.bytes, files.mostBytes),
  )}
  ${renderTile(
    'Running now',
    String(runs.running),
    `of ${runs.most} at once, ${runs.queued} waiting`,
    renderBar(runs.running, runs.most),
  )}
  ${renderTile('Users', formatCount(users), countThings(activeLinks, 'active link'))}
  ${renderTile('Transfers', String(transfers.in + transfers.out), `${transfers.in} in, ${transfers.out} out`)}
  ${renderTile('Failed requests', formatCount(failed), 'in the last hour')}
  ${renderTile('Refused keys', formatCount(trouble.refusedKeys), 'in the last hour')}
  ${renderTile('Up for', formatDuration(Math.max(0, now - startedAt)), `since ${startFormat.format(startedAt)} UTC`)}`;
}

const startFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

export const renderTile = (name: string, figure: string, words: string, bar: Html | '' = nothing): Html =>
  html`<div class="tile">
    <span class="name">${name}</span>
    <span class="figure">${figure}</span>
    ${bar}
    <span class="muted">${words}</span>
  </div>`;

function renderTrouble({ trouble: { since, errors } }: OperatorStatus): Html {
  const most = Object.entries(errors).toSorted(([, a], [, b]) => b - a);
  if (most.length === 0) return html``;
  return html`<p class="muted">
    Since ${new Date(since).toISOString().slice(11, 16)} UTC, requests failed with
    ${most.map(([code, count], at) => html`${at === 0 ? nothing : ', '}<code>${code}</code> (${count})`)}.
    <a href="/operate/audit?level=warning">See warnings in the audit log</a>
  </p>`;
}

function renderPlots({ disk }: OperatorStatus, { from, to, values }: PlottedHistory): Html {
  const when = { from, to };
  const perMinute = (value: number): string => String(Number(value.toFixed(value < 10 ? 1 : 0)));
  const perSecond = (value: number): string => `${formatBytes(value)}/s`;
  const divideBySixty = (rates: readonly (number | null)[]) => rates.map((rate) => rate && rate / 60);
  const percent = (value: number): string => `${Math.round(value * 100)} %`;
  return html`<h2>The last hours</h2>
    <div class="plots">
      ${renderPlot({
        ...when,
        title: 'Runs per minute',
        lines: [
          { name: 'succeeded', values: values.succeeded },
          { name: 'failed', values: values.failed },
        ],
        format: perMinute,
      })}
      ${renderPlot({
        ...when,
        title: 'Bytes of files',
        lines: [
          { name: 'out', values: divideBySixty(values.bytesOut) },
          { name: 'in', values: divideBySixty(values.bytesIn) },
        ],
        format: perSecond,
        base: 1024,
      })}
      ${renderPlot({
        ...when,
        title: 'Event loop',
        lines: [{ name: 'busy', values: values.busy }],
        format: percent,
        most: 1,
      })}
      ${renderPlot({
        ...when,
        title: 'Memory',
        lines: [{ name: 'of the server', values: values.memory }],
        format: formatBytes,
        base: 1024,
      })}
      ${renderPlot({
        ...when,
        title: 'Disk',
        lines: [{ name: 'used', values: values.diskUsed }],
        format: formatBytes,
        base: 1024,
        ...(disk === null ? {} : { most: disk.totalBytes }),
      })}
      ${renderPlot({
        ...when,
        title: 'Refused per minute',
        lines: [
          { name: 'requests', values: values.errors },
          { name: 'keys', values: values.refusedKeys },
        ],
        format: perMinute,
      })}
    </div>
    <p class="muted">One sample in 15 seconds, for six hours at most, from this server since its start.</p>`;
}

const renderBackup = ({ backedUpAt }: OperatorStatus): Html =>
  backedUpAt === null
    ? html`<span class="state going">none recorded</span>. A backup records itself with
        <code>touch last-backup</code> in the data folder, as docs/guide/backup.md shows.`
    : renderTime(backedUpAt);

function renderSources(sources: readonly SyncedSource[] | null): Html {
  if (sources === null) return html`the index of crates did not answer`;
  if (sources.length === 0) return html`no source yet`;
  return html`${sources.map(
    ({ source, state, reason, syncedAt }) =>
      html`<div>
        ${syncedAt === null ? 'never' : renderTime(Date.parse(syncedAt))}
        ${state === 'ok' ? nothing : html`<span class="state bad">${state}</span> ${reason ?? nothing}`}
        <span class="under"><code>${source}</code></span>
      </div>`,
  )}`;
}
