/** Who asks. Every room takes this as its first argument; on loopback without auth there is only `local`. */
export interface Caller {
  readonly user: string;
}

export const localCaller: Caller = { user: 'local' };

/** A caller who has shown a key or a token. */
export interface SignedIn extends Caller {
  /** What it may be used for: groups of tools, and `operator`. */
  readonly scopes: readonly string[];
  /** Tells keys and tokens apart; it opens nothing. */
  readonly credential: string;
  /** In milliseconds; null where it does not expire. */
  readonly expiresAt: number | null;
}
