/**
 * The definitions of tools that were accepted, by server and tool. The first that is seen is accepted; another one is
 * held back until an operator accepts it. SQL is here; who is told is decided in `catalog.ts`.
 */
import type { Database, Queries } from '../../ports/database/database.ts';
import type { Clock } from '../../platform/clock.ts';

/** What a server says of a tool, with its hash. */
export interface SeenDefinition {
  readonly tool: string;
  readonly hash: string;
  /** As JSON. */
  readonly definition: string;
}

/** A definition that is held back, and the one that was accepted. */
export interface HeldDefinition {
  readonly server: string;
  readonly tool: string;
  readonly accepted: string;
  readonly held: string;
  readonly heldHash: string;
  readonly heldAt: number;
}

/** What became of the definitions of a server. */
export interface CheckedDefinitions {
  /** Names of tools whose definition is the accepted one. */
  readonly accepted: ReadonlySet<string>;
  /** Names of tools that are held back now, and were not before. */
  readonly newlyHeld: readonly string[];
  /** Whether nothing of this server had been accepted before. */
  readonly isFirst: boolean;
}

/** What else belongs to an acceptance, whole or not at all. */
type RecordAcceptance = (tx: Queries, accepted: readonly string[]) => Promise<void>;

export interface Pins {
  /**
   * Compares what a server says now with what was accepted. While it settles, what it says takes the place of what it
   * said a moment ago, when it was first seen.
   */
  check(server: string, seen: readonly SeenDefinition[], settles: boolean): Promise<CheckedDefinitions>;
  listHeld(server?: string): Promise<readonly HeldDefinition[]>;
  /** Accepts what is held back of a server, or of one of its tools. Gives the names of the tools. */
  accept(server: string, tool: string | null, also?: RecordAcceptance): Promise<readonly string[]>;
}

export function createPins(database: Database, clock: Clock = Date.now): Pins {
  return {
    check: (server, seen, settles) =>
      database.transaction((tx) => checkDefinitions(tx, server, { seen, settles }, clock())),
    async listHeld(server) {
      const rows = await database.query<HeldRow>(
        `SELECT server, tool, definition, held_definition, held_hash, held_at FROM gateway_definitions
         WHERE held_hash IS NOT NULL ORDER BY server, tool`,
      );
      return rows.filter((row) => server === undefined || row.server === server).map(toHeld);
    },
    accept: (server, tool, also) =>
      database.transaction(async (tx) => {
        const accepted = await acceptPins(tx, server, tool, clock());
        await also?.(tx, accepted);
        return accepted;
      }),
  };
}

/** For those who only look: every definition is taken for accepted, and nothing is kept. */
export const createOpenPins = (): Pins => ({
  check: async (_server, seen) => ({
    accepted: new Set(seen.map(({ tool }) => tool)),
    newlyHeld: [],
    isFirst: false,
  }),
  listHeld: async () => [],
  accept: async () => [],
});

type HeldRow = {
  server: string;
  tool: string;
  definition: string;
  held_definition: string;
  held_hash: string;
  held_at: number;
};

const toHeld = ({
  server,
  tool,
  definition,
  held_definition,
  held_hash,
  held_at,
}: HeldRow): HeldDefinition => ({
  server,
  tool,
  accepted: definition,
  held: held_definition,
  heldHash: held_hash,
  heldAt: held_at,
});

async function acceptPins(tx: Queries, server: string, tool: string | null, now: number): Promise<string[]> {
  const rows = await tx.query<{ tool: string }>(
    `UPDATE gateway_definitions SET hash = held_hash, definition = held_definition, accepted_at = ?,
       held_hash = NULL, held_definition = NULL, held_at = NULL
     WHERE server = ? AND held_hash IS NOT NULL AND (tool = ? OR ? = 1) RETURNING tool`,
    now,
    server,
    tool ?? '',
    tool === null ? 1 : 0,
  );
  return rows.map((row) => row.tool).toSorted();
}

async function checkDefinitions(
  tx: Queries,
  server: string,
  { seen, settles }: { readonly seen: readonly SeenDefinition[]; readonly settles: boolean },
  now: number,
): Promise<CheckedDefinitions> {
  const rows = await tx.query<{ tool: string; hash: string; held_hash: string | null }>(
    'SELECT tool, hash, held_hash FROM gateway_definitions WHERE server = ?',
    server,
  );
  const known = new Map(rows.map((row) => [row.tool, row]));
  const accepted = new Set<string>();
  const newlyHeld: string[] = [];
  for (const one of seen) {
    const pin = known.get(one.tool) ?? (await insertFirst(tx, server, one, now));
    if (pin.hash === one.hash) {
      accepted.add(one.tool);
      if (pin.held_hash !== null) await release(tx, server, one.tool);
    } else if (settles) {
      await replacePin(tx, server, one, now);
      accepted.add(one.tool);
    } else if (pin.held_hash !== one.hash) {
      await hold(tx, server, one, now);
      newlyHeld.push(one.tool);
    }
  }
  return { accepted, newlyHeld, isFirst: rows.length === 0 };
}

/** Another server on the same database may have been first. */
async function insertFirst(
  tx: Queries,
  server: string,
  { tool, hash, definition }: SeenDefinition,
  now: number,
) {
  await tx.query(
    `INSERT INTO gateway_definitions (server, tool, hash, definition, accepted_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
    server,
    tool,
    hash,
    definition,
    now,
  );
  const [row] = await tx.query<{ hash: string; held_hash: string | null }>(
    'SELECT hash, held_hash FROM gateway_definitions WHERE server = ? AND tool = ?',
    server,
    tool,
  );
  return row!;
}

const replacePin = (tx: Queries, server: string, { tool, hash, definition }: SeenDefinition, now: number) =>
  tx.query(
    `UPDATE gateway_definitions SET hash = ?, definition = ?, accepted_at = ?,
       held_hash = NULL, held_definition = NULL, held_at = NULL
     WHERE server = ? AND tool = ?`,
    hash,
    definition,
    now,
    server,
    tool,
  );

const hold = (tx: Queries, server: string, { tool, hash, definition }: SeenDefinition, now: number) =>
  tx.query(
    `UPDATE gateway_definitions SET held_hash = ?, held_definition = ?, held_at = ? WHERE server = ? AND tool = ?`,
    hash,
    definition,
    now,
    server,
    tool,
  );

/** The server has gone back to what was accepted. */
const release = (tx: Queries, server: string, tool: string) =>
  tx.query(
    `UPDATE gateway_definitions SET held_hash = NULL, held_definition = NULL, held_at = NULL
     WHERE server = ? AND tool = ?`,
    server,
    tool,
  );
