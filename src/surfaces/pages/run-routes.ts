/** The routes of runs: the list, one run, what it prints, its pictures, and what can be done with it. */
import type { Hono } from 'hono';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Executions } from '../../core/runs/executions.ts';
import { searchInput, toExecutionPage, type ListedRun, type ShownRun } from '../../core/runs/schema.ts';
import type { Files } from '../../core/files/files.ts';
import { copyScript, liveScript } from './frame.ts';
import { answerEvents } from './events.ts';
import type { Feeds } from './feed.ts';
import { streamRun, readShownOutput } from './live.ts';
import type { Visitor, Routing } from './routing.ts';
import { answerMadeFile, type MadeFileSources } from './made-files.ts';
import { renderPacked } from './packed.ts';
import { readMadePicture, readResultPicture } from './pictures.ts';
import { renderResults, renderRun } from './run.ts';
import { toRunAgain } from './run-again.ts';
import { renderRunPart, renderRuns, toCursor, toSearch, type RunFilter } from './runs.ts';

export interface RunRoutesOptions extends MadeFileSources {
  readonly executions: Pick<Executions, 'findLive' | 'follow' | 'get' | 'search' | 'watch'>;
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly feeds: Feeds;
}

const runsOnPage = 50;

const readFilter = (query: Readonly<Record<string, string>>): RunFilter => {
  const { text = '', language = '', status = '', since = '', until = '' } = query;
  return { text, language, status, since, until };
};

export function addRunRoutes(routes: Hono, routing: Routing, options: RunRoutesOptions): void {
  addListRoutes(routes, routing, options);
  addOneRunRoutes(routes, routing, options);
  addPictureRoutes(routes, routing, options);
  addRunActions(routes, routing);
}

function addListRoutes(
  routes: Hono,
  { tools, visit, show, fail }: Routing,
  { executions, feeds }: RunRoutesOptions,
): void {
  routes.get(
    '/',
    show(
      '/',
      'Runs',
      async (visitor, _token, { req }) => {
        const { after = '', before = '' } = req.query();
        const filter = readFilter(req.query());
        const search = (place: Record<string, string>) =>
          tools.call(visitor, 'search_executions', { ...toSearch(filter), ...place, limit: runsOnPage });
        const page = await search(before !== '' ? { before } : after !== '' ? { after } : {});
        const runs = page.executions as readonly ListedRun[];
        // Too few before a place: these are the newest.
        if (before !== '' && page.next === null) {
          const newest = await search({});
          return renderRuns({ runs: newest.executions, filter, older: newest.next, newer: null });
        }
        const [first, last] = [runs[0], runs.at(-1)];
        const older =
          before === '' ? (page.next as string | null) : last === undefined ? null : toCursor(last);
        const newer = before === '' && after === '' ? null : first === undefined ? after : toCursor(first);
        return renderRuns({ runs, filter, older, newer });
      },
      liveScript,
    ),
  );
  routes.get('/runs/live', async (context) => {
    const visitor = visit(context);
    const filter = readFilter(context.req.query());
    const wanted = { ...toSearch(filter), limit: runsOnPage };
    try {
      // By the tool once: it decides what is a good filter and who may see runs.
      await tools.call(visitor, 'search_executions', { ...wanted, limit: 1 });
      const { caller } = visitor;
      const part = {
        key: JSON.stringify(['runs', caller.user, filter]),
        watch: (tell: () => void) => executions.watch(caller, tell),
        render: async () => {
          const { executions: runs } = toExecutionPage(
            await executions.search(caller, searchInput.parse(wanted)),
          );
          return (await renderRunPart({ runs, filter })).toString();
        },
      };
      return answerEvents(visitor, (signal) => feeds.follow(part, signal));
    } catch (cause) {
      return fail('/', cause);
    }
  });
}

function addOneRunRoutes(
  routes: Hono,
  { tools, visit, show, fail }: Routing,
  { executions, files }: RunRoutesOptions,
): void {
  routes.get(
    '/runs/:id',
    show(
      '/',
      'Run',
      async (visitor, token, { req }) => {
        const run: ShownRun = await tools.call(visitor, 'get_execution', { execution_id: req.param('id') });
        const isRunning = run.end_reason === 'running';
        const live = isRunning ? executions.findLive(visitor.caller, run.execution_id) : null;
        return renderRun(run, {
          token,
          live: live && readShownOutput(live),
          results: await renderResults({ files, visitor, token }, run),
          mayPack: await tools.has(visitor, 'pack_crate'),
          mayRun: await tools.has(visitor, 'execute_code'),
        });
      },
      liveScript,
    ),
  );
  routes.get('/runs/:id/live', async (context) => {
    const [id, visitor] = [context.req.param('id'), visit(context)];
    const given = Number(context.req.header('last-event-id') ?? context.req.query('from') ?? 0);
    const from = Number.isSafeInteger(given) && given > 0 ? given : 0;
    try {
      // By the tool once: it decides who may see the run.
      await tools.call(visitor, 'get_execution', { execution_id: id });
      return answerEvents(visitor, (signal) => streamRun(executions, visitor, { id, from }, signal));
    } catch (cause) {
      return fail('/', cause);
    }
  });
}

/** Not by a tool: the run that has them was shown by one, and a page may have many. */
function addPictureRoutes(routes: Hono, { tools, visit, fail }: Routing, options: RunRoutesOptions): void {
  routes.get('/runs/:id/results/:result/:part', async (context) => {
    const visitor = visit(context);
    const { id, result, part } = context.req.param();
    try {
      await demandTool(tools, visitor, 'get_execution');
      return await readResultPicture(options, visitor, { id, result: Number(result), part: Number(part) });
    } catch (cause) {
      return fail('/', cause);
    }
  });
  routes.get('/runs/:id/pictures/:name', async (context) => {
    const visitor = visit(context);
    try {
      await demandTool(tools, visitor, 'get_artifact');
      return await readMadePicture(options, visitor, context.req.param());
    } catch (cause) {
      return fail('/', cause);
    }
  });
  routes.get('/runs/:id/made', async (context) => {
    const visitor = visit(context);
    try {
      await demandTool(tools, visitor, 'get_artifact');
      const wanted = { id: context.req.param('id'), path: context.req.query('path') ?? '' };
      return await answerMadeFile(options, visitor, wanted);
    } catch (cause) {
      return fail('/', cause);
    }
  });
}

async function demandTool(tools: Routing['tools'], visitor: Visitor, name: string): Promise<void> {
  if (!(await tools.has(visitor, name)))
    throw new WorkcrateError('forbidden', `This needs ${name}, which your key or token may not use.`);
}

function addRunActions(routes: Hono, { tools, change, showOnce }: Routing): void {
  routes.post(
    '/runs/:id/cancel',
    change('/', async (visitor, _form, id) => {
      await tools.call(visitor, 'cancel_execution', { execution_id: id });
      return `/runs/${id}`;
    }),
  );
  const runAgain = (withFiles: boolean) =>
    change('/', async (visitor, _form, id) => {
      const run: ShownRun = await tools.call(visitor, 'get_execution', { execution_id: id });
      const { tool, input } = toRunAgain(run, withFiles);
      const begun = await tools.call(visitor, tool, { ...input, background: true });
      return `/runs/${begun.execution_id}`;
    });
  routes.post('/runs/:id/again', runAgain(true));
  routes.post('/runs/:id/again-without-files', runAgain(false));
  routes.post(
    '/runs/:id/pack',
    showOnce(
      '/',
      'Crate',
      async (visitor, _form, _token, { req }) => {
        const id = req.param('id')!;
        return renderPacked(id, await tools.call(visitor, 'pack_crate', { execution_id: id }));
      },
      copyScript,
    ),
  );
}
