/** How much of the proxy a run may use, how long things may take, and a watch that ends what does not move on. */

export interface EgressLimits {
  /** Connections at once: of one run, and of all together. */
  readonly connections: number;
  readonly allConnections: number;
  /** Of one run, from its start to its end. */
  readonly requests: number;
  /** Requests and connections of one run that begin in a second; the others wait. */
  readonly beginningsPerSecond: number;
  /** Small pieces of data of one run in a second, see `pace.ts`. */
  readonly piecesPerSecond: number;
  /** Of a request: its first line and its header. */
  readonly headerBytes: number;
  readonly headerLines: number;
  /** For the next request of a connection, until its header is complete. */
  readonly headerMs: number;
  /** For the first message of TLS in a tunnel. */
  readonly helloMs: number;
  /** To find the address, and to connect; each. */
  readonly connectMs: number;
  /** Without a byte in either direction. */
  readonly idleMs: number;
  /** The body of a request has to move on by so much in so long. */
  readonly bodyBytes: number;
  readonly bodyMs: number;
}

export const defaultLimits: EgressLimits = {
  connections: 32,
  allConnections: 512,
  requests: 50_000,
  beginningsPerSecond: 200,
  piecesPerSecond: 50_000,
  headerBytes: 16 * 1024,
  headerLines: 100,
  headerMs: 30_000,
  helloMs: 10_000,
  connectMs: 10_000,
  // Some services think for minutes before they answer.
  idleMs: 300_000,
  bodyBytes: 1024,
  bodyMs: 30_000,
};

/**
 * Calls `end` when a count has not grown by `least` within a while. It looks once in that while, so that nothing has to
 * be done for each chunk.
 */
export function watchProgress(
  count: () => number,
  { ms, least = 1 }: { readonly ms: number; readonly least?: number },
  end: () => void,
): Disposable {
  let before = count();
  const timer = setInterval(() => {
    const now = count();
    if (now - before < least) end();
    before = now;
  }, ms).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
