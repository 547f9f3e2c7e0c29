/**
 * Metrics and spans around rooms and ports: each function takes one and returns the same interface. It changes no
 * result, holds no metric (`platform/observability/metrics.ts` does) and never records arguments or content.
 */
import type { Database, Queries, Row, SqlValue } from '../../ports/database/database.ts';
import { isWorkcrateError } from '../../platform/errors.ts';
import type { Executions, LiveRun } from '../../core/runs/executions.ts';
import type { Links, Uploads } from '../../core/links/links.ts';
import type { Tool } from '../../core/offer/tool.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Attributes, Tracing } from '../../platform/observability/tracing.ts';
import type { SandboxRun, Sandbox } from '../../ports/sandbox/sandbox.ts';
import type { Staging, Storage } from '../../ports/storage/storage.ts';
import { IssuerDown, type Users } from '../../core/users/users.ts';

type QueryFunction = <T extends Row = Row>(sql: string, ...values: SqlValue[]) => Promise<T[]>;

interface DatabaseInstruments {
  readonly metrics: Pick<Metrics, 'databaseQuery'>;
  readonly tracing: Tracing;
}

/** As OpenTelemetry calls them. */
const systemNames: Readonly<Record<Database['kind'], string>> = { sqlite: 'sqlite', postgres: 'postgresql' };

/** The same database, with metrics of its queries and, if tracing is on, spans. */
export function instrumentDatabase(database: Database, eyes: DatabaseInstruments): Database {
  const system = systemNames[database.kind];
  const seen = ({ query }: Queries): QueryFunction =>
    timeQuery(traceQuery(query, eyes.tracing, system), eyes);
  return {
    kind: database.kind,
    isShared: database.isShared,
    sharedClock: database.sharedClock,
    clock: database.clock,
    query: seen(database),
    transaction: (work) =>
      eyes.tracing.span('database transaction', { 'db.system.name': system }, () =>
        database.transaction((tx) => work({ query: seen(tx) })),
      ),
    version: database.version,
    identify: database.identify,
    verify: database.verify,
    demandWhole: database.demandWhole,
    close: database.close,
  };
}

/** The time includes waiting for other queries. */
function timeQuery(query: QueryFunction, { metrics }: DatabaseInstruments): QueryFunction {
  return async <T extends Row>(sql: string, ...values: SqlValue[]) => {
    const started = performance.now();
    try {
      const rows = await query<T>(sql, ...values);
      metrics.databaseQuery('ok', (performance.now() - started) / 1000);
      return rows;
    } catch (error) {
      metrics.databaseQuery('failed', (performance.now() - started) / 1000);
      throw error;
    }
  };
}

/** The SQL contains no values: those are passed beside it, and are not recorded. */
function traceQuery(query: QueryFunction, tracing: Tracing, system: string): QueryFunction {
  if (!tracing.isOn) return query;
  return <T extends Row>(sql: string, ...values: SqlValue[]) => {
    const text = sql.replaceAll(/\s+/g, ' ').trim();
    const verb = text.split(' ', 1)[0]!;
    const attributes: Attributes = { 'db.system.name': system, 'db.query.text': text.slice(0, 500) };
    return tracing.span(`database ${verb}`, attributes, () => query<T>(sql, ...values));
  };
}

/** The same links, counting those that are made. */
export function meterLinks(links: Links, { linkMade }: Pick<Metrics, 'linkMade'>): Links {
  return {
    ...links,
    async share(...terms) {
      const shared = await links.share(...terms);
      linkMade('file');
      return shared;
    },
    async bundle(...terms) {
      const shared = await links.bundle(...terms);
      linkMade('bundle');
      return shared;
    },
    async shareExternalTarget(...terms) {
      const shared = await links.shareExternalTarget(...terms);
      linkMade('elsewhere');
      return shared;
    },
  };
}

/** The same uploads, counting those that are requested. */
export function meterUploads(uploads: Uploads, { linkMade }: Pick<Metrics, 'linkMade'>): Uploads {
  return {
    ...uploads,
    async request(...terms) {
      const requested = await uploads.request(...terms);
      linkMade('upload');
      return requested;
    },
  };
}

/** The same tool, with a span for each call. Arguments are not recorded. */
export function traceTool(tool: Tool, tracing: Tracing): Tool {
  if (!tracing.isOn) return tool;
  return {
    ...tool,
    handle: (input, context) =>
      tracing.span(
        `tool ${tool.name}`,
        { 'mcp.tool.name': tool.name, 'workcrate.user': context.caller.user },
        () => tool.handle(input, context),
      ),
  };
}

/** The same executions, with a span for each run, from the request to the record. */
export function traceExecutions(executions: Executions, tracing: Tracing): Executions {
  if (!tracing.isOn) return executions;
  const begin: Executions['begin'] = (caller, request, control) => {
    const begun = Promise.withResolvers<LiveRun>();
    const attributes = { 'workcrate.language': request.language };
    // The span lasts as long as the run, which the caller need not wait for.
    const traced = tracing.span('execution', attributes, async (tell) => {
      const run = await executions.begin(caller, request, control);
      tell({ 'workcrate.execution': run.id });
      begun.resolve(run);
      tell({ 'workcrate.reason': (await run.ended).execution.reason });
    });
    traced.catch(begun.reject);
    return begun.promise;
  };
  const run: Executions['run'] = async (...request) => (await begin(...request)).ended;
  return { ...executions, begin, run };
}

/** The same sandbox, with spans for how long a run waited for its interpreter and how long it ran. */
export function traceSandbox(sandbox: Sandbox, tracing: Tracing): Sandbox {
  if (!tracing.isOn) return sandbox;
  return {
    ...sandbox,
    async start(request) {
      const attributes = { 'workcrate.sandbox': sandbox.kind, 'workcrate.language': request.language };
      const run = await tracing.span('sandbox start', attributes, () => sandbox.start(request));
      // The caller waits for the end of the run; this only watches.
      void tracing.span('sandbox run', attributes, async (tell) => tell(toRunAttributes(await run.ended)));
      return run;
    },
  };
}

function toRunAttributes({ reason, exitCode }: Awaited<SandboxRun['ended']>) {
  return { 'workcrate.reason': reason, ...(exitCode === null ? {} : { 'workcrate.exit_code': exitCode }) };
}

/** The same storage, with a span for each call. Reading the bytes of an open object has none. */
export function traceStorage(storage: Storage, tracing: Tracing): Storage {
  if (!tracing.isOn) return storage;
  const seen = <T>(operation: string, work: () => Promise<T>): Promise<T> =>
    tracing.span(`storage ${operation}`, { 'workcrate.storage': storage.kind }, work);
  return {
    ...storage,
    stat: (key) => seen('stat', () => storage.stat(key)),
    open: (key) => seen('open', () => storage.open(key)),
    list: (options) => seen('list', () => storage.list(options)),
    remove: (key) => seen('remove', () => storage.remove(key)),
    presign: (...terms) => seen('presign', () => storage.presign(...terms)),
    probe: () => seen('probe', () => storage.probe()),
    staging: traceStaging(storage.staging, seen),
  };
}

type TraceOperation = <T>(operation: string, work: () => Promise<T>) => Promise<T>;

function traceStaging(staging: Staging, seen: TraceOperation): Staging {
  return {
    ...staging,
    size: (id) => seen('staging.size', () => staging.size(id)),
    append: (...bytes) => seen('staging.append', () => staging.append(...bytes)),
    commit: (id, key) => seen('staging.commit', () => staging.commit(id, key)),
    discard: (id) => seen('staging.discard', () => staging.discard(id)),
    list: () => seen('staging.list', () => staging.list()),
  };
}

/** The same users, counting attempts to sign in. */
export function meterSignIns(users: Users, { auth }: Pick<Metrics, 'auth'>): Users {
  return {
    ...users,
    async signIn(shown) {
      try {
        const caller = await users.signIn(shown);
        auth.inc({ result: 'ok' });
        return caller;
      } catch (error) {
        auth.inc({ result: getSignInResult(error) });
        throw error;
      }
    },
  };
}

function getSignInResult(error: unknown): string {
  if (error instanceof IssuerDown) return 'issuer_down';
  return isWorkcrateError(error, 'unauthorized') ? 'refused' : 'failed';
}
