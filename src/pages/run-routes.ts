/** The routes of runs: the list, one run, what it prints, and what can be done with it. */
import type { Hono } from 'hono';
import type { Executions } from '../executions/executions.ts';
import { liveScript, streamRun } from './live.ts';
import { toOwnPath, type Routing } from './routing.ts';
import { renderRun } from './run.ts';
import { renderRuns } from './runs.ts';

const runsOnPage = 50;

export function addRunRoutes(
  routes: Hono,
  { tools, visit, show, change, fail }: Routing,
  executions: Pick<Executions, 'follow'>,
): void {
  routes.get(
    '/',
    show('/', 'Runs', async (visitor, _token, { req }) => {
      const { text = '', language = '', status = '', after = '' } = req.query();
      const given = Object.entries({ text, language, status, after }).filter(([, value]) => value !== '');
      const wanted = { ...Object.fromEntries(given), limit: runsOnPage };
      const page = await tools.call(visitor, 'search_executions', wanted);
      return renderRuns(page.executions, page.next, { text, language, status });
    }),
  );
  routes.get(
    '/runs/:id',
    show(
      '/',
      'Run',
      async (visitor, token, { req }) => {
        const run = await tools.call(visitor, 'get_execution', { execution_id: req.param('id') });
        const mayPack = await tools.has(visitor, 'pack_crate');
        return renderRun(run, { token, mayPack, mayRun: await tools.has(visitor, 'execute_code') });
      },
      liveScript,
    ),
  );
  routes.get('/runs/:id/live', async (context) => {
    const [id, visitor] = [context.req.param('id'), visit(context)];
    const from = Number(context.req.header('last-event-id') ?? context.req.query('from') ?? 0);
    try {
      // By the tool once: it decides who may see the run.
      await tools.call(visitor, 'get_execution', { execution_id: id });
      return streamRun(executions, visitor, id, Number.isSafeInteger(from) && from > 0 ? from : 0);
    } catch (cause) {
      return fail('/', cause);
    }
  });
  routes.post(
    '/runs/:id/cancel',
    change('/', async (visitor, _form, id) => {
      await tools.call(visitor, 'cancel_execution', { execution_id: id });
      return `/runs/${id}`;
    }),
  );
  routes.post(
    '/runs/:id/again',
    change('/', async (visitor, _form, id) => {
      const { language, code } = await tools.call(visitor, 'get_execution', { execution_id: id });
      const begun = await tools.call(visitor, 'execute_code', { language, code, background: true });
      return `/runs/${begun.execution_id}`;
    }),
  );
  routes.post(
    '/runs/:id/pack',
    change('/', async (visitor, _form, id) =>
      toOwnPath((await tools.call(visitor, 'pack_crate', { execution_id: id })).downloadUrl),
    ),
  );
}
