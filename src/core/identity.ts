/**
 * Who makes a call. Every function that touches data of a user takes the `Caller`. How a caller proves who it is, is in
 * `core/users/`.
 */

/** Who asks. Every room takes this as its first argument; on loopback without auth there is only `local`. */
export interface Caller {
  readonly user: string;
  /**
   * From when the right to call dates, in milliseconds: when the key was made or, with a token, when the request was
   * let in. A removal of the user after that ends what was begun with it.
   */
  readonly since?: number;
}

export const localCaller: Caller = { user: 'local' };

/** Whether it is the caller without authentication, whom nobody can remove. */
export const isLocal = ({ user }: Caller): boolean => user === localCaller.user;

/** A caller who signed in with a key or a token. */
export interface SignedIn extends Caller {
  /** What it may be used for: groups of tools, and `operator`. */
  readonly scopes: readonly string[];
  /** A token can be exchanged for one with more scopes, a key cannot. */
  readonly signedInBy: 'key' | 'token';
  /** Tells keys and tokens apart; it opens nothing. */
  readonly credential: string;
  /** In milliseconds; null where it does not expire. */
  readonly expiresAt: number | null;
}
