/** Who asks. Every room takes this as its first argument; on loopback without auth there is only `local`. */
export interface Caller {
  readonly user: string;
}

export const localCaller: Caller = { user: 'local' };
