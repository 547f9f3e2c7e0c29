/**
 * All connections to servers behind the gateway: one for each user and server, never shared. They are opened on first use,
 * closed when nobody has used them for a while, opened again with growing pauses after failures, and replaced when the
 * gateway file says something else. What is asked of a server is not known here.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { asWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { createCatalog, type Catalog, type CatalogOptions } from './catalog.ts';
import { isServerLost, isLostSession, openServer, type Connection, type ListKind } from './connection.ts';
import { isSamePlace, type ServerEntry } from './entry.ts';
import { createWatchdog, type Watchdog } from './watchdog.ts';

export interface ConnectionsOptions extends Pick<CatalogOptions, 'pins' | 'isTaken'> {
  /** What a program needs of our environment. */
  readonly inherited: Readonly<Record<string, string>>;
  readonly idleMs: number;
  readonly mostConnections: number;
  /** Told when what a server offers a user may have changed. */
  readonly changed: (kind: ListKind, user: string) => void;
  readonly held: (entry: ServerEntry, user: string, tools: Parameters<CatalogOptions['held']>[0]) => void;
  readonly log: Log;
}

/** A connection that is being used. */
export interface OpenUpstream {
  readonly entry: ServerEntry;
  readonly connection: Connection;
  readonly catalog: Catalog;
  /** Who answers what the server asks, one for each call under way. */
  readonly answerers: Set<(params: ElicitRequest['params']) => Promise<ElicitResult>>;
}

/** How long a server may take to start: npm may have to fetch it first. */
const serverStartMs = 90_000;
const graceMs = 2000;
const reapMs = 5000;
/** The pauses after failures: 1 s, 2 s, 4 s and so on. */
const [firstPauseMs, longestPauseMs] = [1000, 60_000];
/** One that ends sooner than this after its start counts as a failure. */
const stableMs = 10_000;

interface Slot {
  readonly entry: ServerEntry;
  readonly user: string;
  opening: Promise<OpenUpstream> | null;
  open: OpenUpstream | null;
  inUse: number;
  usedAt: number;
  failures: number;
  retryAt: number;
  lastFailure: string;
  /** Its server is gone from the file, or is elsewhere. */
  isRetired: boolean;
}

export class Connections implements AsyncDisposable {
  readonly #options: ConnectionsOptions;
  readonly #gatewayMark = randomBytes(8).toString('hex');
  readonly #watchdog: Watchdog;
  readonly #slots = new Map<string, Slot>();
  readonly #closing = new Set<Promise<void>>();
  /** Servers that are known to speak an older version: they need not be asked again. */
  readonly #oldServers = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#watchdog = createWatchdog(this.#gatewayMark, options.inherited['PATH'] ?? '/usr/bin:/bin');
    this.#timer = setInterval(() => this.#reapIdle(), Math.min(reapMs, options.idleMs)).unref();
  }

  /** How many are open. */
  get count(): number {
    return [...this.#slots.values()].filter(({ open }) => open !== null).length;
  }

  /** Works with a connection. One whose session is lost is opened again, once. */
  async use<T>(entry: ServerEntry, user: string, work: (upstream: OpenUpstream) => Promise<T>): Promise<T> {
    const slot = this.#findSlot(entry, user);
    slot.inUse++;
    try {
      const upstream = slot.open?.connection.isOpen() === true ? slot.open : await this.#open(slot);
      try {
        return await work({ ...upstream, entry });
      } catch (error) {
        if (isServerLost(error) && slot.open === upstream) this.#close(slot);
        if (!isLostSession(error)) throw error;
        this.#options.log.info('gateway.session_lost', { server: entry.name, user });
        if (slot.open === upstream) this.#close(slot);
        return await work({ ...(slot.open ?? (await this.#open(slot))), entry });
      }
    } finally {
      slot.inUse--;
      slot.usedAt = Date.now();
      if (slot.isRetired && slot.inUse === 0) this.#close(slot);
    }
  }

  /** Ends the connections of servers that are gone or are elsewhere now, once their calls are answered. */
  replaceEntries(entries: readonly ServerEntry[]): void {
    const byName = new Map(entries.map((entry) => [entry.name, entry]));
    for (const [key, slot] of this.#slots) {
      const next = byName.get(slot.entry.name);
      if (next !== undefined && isSamePlace(slot.entry, next)) continue;
      slot.isRetired = true;
      this.#slots.delete(key);
      this.#oldServers.delete(slot.entry.name);
      // One that is in use closes with its last call.
      if (slot.inUse === 0) this.#close(slot);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#timer);
    await Promise.allSettled([...this.#slots.values()].map(async ({ opening }) => opening));
    for (const slot of this.#slots.values()) this.#close(slot);
    await Promise.race([Promise.all(this.#closing), pause(maxCloseMs, undefined, { ref: false })]);
    this.#watchdog[Symbol.dispose]();
  }

  #findSlot(entry: ServerEntry, user: string): Slot {
    const key = JSON.stringify([user, entry.name]);
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    const slot = createSlot(entry, user);
    this.#slots.set(key, slot);
    return slot;
  }

  async #open(slot: Slot): Promise<OpenUpstream> {
    if (this.#stopping.signal.aborted) throw createServerStoppingError();
    const waitMs = slot.retryAt - Date.now();
    if (waitMs > 0)
      throw new WorkcrateError(
        'upstream_failed',
        `${slot.lastFailure} It is tried again in ${Math.ceil(waitMs / 1000)} s.`,
      );
    this.#makeRoom(slot);
    slot.opening ??= this.#start(slot).finally(() => (slot.opening = null));
    return slot.opening;
  }

  async #start(slot: Slot): Promise<OpenUpstream> {
    const { entry, user } = slot;
    const { log } = this.#options;
    if (entry.place.kind === 'stdio') this.#watchdog.watch();
    try {
      const upstream = await this.#connect(slot);
      if (this.#stopping.signal.aborted) {
        await upstream.connection.close();
        throw createServerStoppingError();
      }
      slot.open = upstream;
      const since = Date.now();
      log.info('gateway.connected', { server: entry.name, user });
      void upstream.connection.ended.then(() => this.#forgetEnded(slot, upstream, since));
      return upstream;
    } catch (cause) {
      const error = asWorkcrateError(cause);
      slot.lastFailure = error.message;
      slot.retryAt = Date.now() + toPauseMs(slot.failures++);
      log.warn('gateway.not_connected', { server: entry.name, user, code: error.code, why: error.message });
      throw error;
    }
  }

  async #connect(slot: Slot): Promise<OpenUpstream> {
    const { entry, user } = slot;
    const { inherited, log } = this.#options;
    const answerers: OpenUpstream['answerers'] = new Set();
    const connection = await openServer({
      entry,
      user,
      inherited,
      mark: `${this.#gatewayMark}.${randomBytes(8).toString('hex')}`,
      startMs: serverStartMs,
      graceMs,
      signal: this.#stopping.signal,
      isOld: this.#oldServers.has(entry.name),
      changed: (kind) => {
        slot.open?.catalog.forget(kind);
        this.#options.changed(kind, user);
      },
      asked: (params) => askOnly(answerers, params),
      log,
    });
    if (connection.isOld) this.#oldServers.add(entry.name);
    const held: CatalogOptions['held'] = (tools) => this.#options.held(entry, user, tools);
    return {
      entry,
      connection,
      answerers,
      catalog: createCatalog({ ...this.#options, entry, connection, held }),
    };
  }

  #forgetEnded(slot: Slot, upstream: OpenUpstream, since: number): void {
    if (slot.open !== upstream) return;
    slot.open = null;
    const { entry, user } = slot;
    this.#options.log.warn('gateway.server_ended', { server: entry.name, user });
    slot.lastFailure = `The server ${entry.name} behind the gateway ends again and again.`;
    if (Date.now() - since >= stableMs) slot.failures = 0;
    // The first time it is started again at once.
    else if (slot.failures++ > 0) slot.retryAt = Date.now() + toPauseMs(slot.failures - 1);
  }

  #close(slot: Slot): void {
    const upstream = slot.open;
    if (upstream === null) return;
    slot.open = null;
    const { log } = this.#options;
    const close = async (): Promise<void> => {
      try {
        await upstream.connection.close();
      } catch (error) {
        log.warn('gateway.close_failed', { server: slot.entry.name, error });
      }
    };
    const done = close().finally(() => void this.#closing.delete(done));
    this.#closing.add(done);
  }

  #reapIdle(): void {
    const now = Date.now();
    for (const [key, slot] of this.#slots) {
      const isIdle = slot.inUse === 0 && now - slot.usedAt >= this.#options.idleMs;
      if (!isIdle) continue;
      this.#close(slot);
      if (slot.retryAt <= now) this.#slots.delete(key);
    }
  }

  /** Closes the one that was not used for longest where there are too many. */
  #makeRoom(wanted: Slot): void {
    const { mostConnections } = this.#options;
    if (wanted.opening !== null) return;
    const others = [...this.#slots.values()].filter(
      (slot) => slot !== wanted && (slot.open !== null || slot.opening !== null),
    );
    if (others.length < mostConnections) return;
    const [oldest] = others
      .filter((slot) => slot.inUse === 0)
      .toSorted((one, other) => one.usedAt - other.usedAt);
    if (oldest === undefined)
      throw new WorkcrateError(
        'upstream_failed',
        `All ${mostConnections} connections to servers behind the gateway are in use. Call again in a moment; the operator can allow more with --gateway-connections.`,
      );
    this.#close(oldest);
  }
}

const toPauseMs = (failures: number): number => Math.min(firstPauseMs * 2 ** failures, longestPauseMs);

const maxCloseMs = 15_000;

const createServerStoppingError = (): WorkcrateError =>
  new WorkcrateError('stopping', 'The server is stopping. Call again in a moment.');

const createSlot = (entry: ServerEntry, user: string): Slot => ({
  entry,
  user,
  opening: null,
  open: null,
  inUse: 0,
  usedAt: Date.now(),
  failures: 0,
  retryAt: 0,
  lastFailure: '',
  isRetired: false,
});

/** Nothing in the protocol says to which of several calls a question belongs, and the wrong person must not be asked. */
async function askOnly(
  answerers: OpenUpstream['answerers'],
  params: ElicitRequest['params'],
): Promise<ElicitResult> {
  const [only, ...others] = answerers;
  if (only === undefined || others.length > 0) return { action: 'cancel' };
  return only(params);
}
