/** The graph of a run that is not packed: what it was given, its code, and the files that it left. */
import type { Hono } from 'hono';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { formatDuration } from '../../platform/text/text.ts';
import { renderGraph } from './graph.ts';
import type { Routing } from './routing.ts';
import { renderArtifactButton } from './run.ts';
import type { ShownRun } from '../../core/runs/schema.ts';

export function addGraphRoutes(routes: Hono, { tools, show }: Routing): void {
  routes.get(
    '/runs/:id/graph',
    show('/', 'Graph of a run', async (visitor, token, { req }) =>
      renderRunGraph(await tools.call(visitor, 'get_execution', { execution_id: req.param('id') }), token),
    ),
  );
}

function renderRunGraph(run: ShownRun, token: string): Html {
  const made = [...run.artifacts.created, ...run.artifacts.modified];
  const address = `/runs/${run.execution_id}`;
  const began = run.started_at.slice(0, 16).replace('T', ' ');
  const took = run.duration_ms === null ? [] : [`took ${formatDuration(run.duration_ms)}`];
  const action = {
    id: run.execution_id,
    name: `${run.limits.runtime ?? run.language} run`,
    facts: [`${began} UTC`, ...took],
    instruments: [{ id: 'code', name: 'its code', href: address }],
    objects: run.inputs.map(({ name }) => ({ id: `given ${name}`, name, href: null })),
    objectCount: run.inputs.length,
    results: made.map((name) => ({ id: `made ${name}`, name, href: null })),
    resultCount: made.length,
    failed: run.end_reason !== 'running' && !(run.end_reason === 'exit' && run.exit_code === 0),
  };
  return html`<p><a href="${address}">Back to the run</a></p>
    <h1>How its files were made</h1>
    ${renderGraph({ title: 'What the run was given and what it made', actions: [action], total: 1 })}
    ${
      made.length === 0
        ? nothing
        : html`<h2>Files it left</h2>
            <p class="muted">A later run may have changed them: Open shows each as it is now.</p>
            <ul class="files">
              ${made.map((name) => html`<li>${name} ${renderArtifactButton(name, token)}</li>`)}
            </ul>`
    }`;
}
