import type { Database, Queries, Row, SqlValue } from '../database/database.ts';
import type { Metrics } from '../metrics.ts';
import type { Attributes, Tracing } from '../tracing.ts';

type Query = <T extends Row = Row>(sql: string, ...values: SqlValue[]) => Promise<T[]>;

interface Eyes {
  readonly metrics: Pick<Metrics, 'databaseQuery'>;
  readonly tracing: Tracing;
}

/** As OpenTelemetry calls them. */
const systemNames: Readonly<Record<Database['kind'], string>> = { sqlite: 'sqlite', postgres: 'postgresql' };

/** The same database, whose queries are counted, timed and, where that is on, told as spans. */
export function seenDatabase(database: Database, eyes: Eyes): Database {
  const system = systemNames[database.kind];
  const seen = ({ query }: Queries): Query => timed(traced(query, eyes.tracing, system), eyes);
  return {
    kind: database.kind,
    isShared: database.isShared,
    sharedClock: database.sharedClock,
    query: seen(database),
    transaction: (work) =>
      eyes.tracing.span('database transaction', { 'db.system.name': system }, () =>
        database.transaction((tx) => work({ query: seen(tx) })),
      ),
    version: database.version,
    verify: database.verify,
    demandWhole: database.demandWhole,
    close: database.close,
  };
}

/** How long it took includes the wait for its turn. */
function timed(query: Query, { metrics }: Eyes): Query {
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

/** The SQL holds no value: those go beside it, and are not told. */
function traced(query: Query, tracing: Tracing, system: string): Query {
  if (!tracing.isOn) return query;
  return <T extends Row>(sql: string, ...values: SqlValue[]) => {
    const text = sql.replaceAll(/\s+/g, ' ').trim();
    const verb = text.split(' ', 1)[0]!;
    const attributes: Attributes = { 'db.system.name': system, 'db.query.text': text.slice(0, 500) };
    return tracing.span(`database ${verb}`, attributes, () => query<T>(sql, ...values));
  };
}
