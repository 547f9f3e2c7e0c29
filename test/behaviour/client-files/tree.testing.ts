export interface Listed {
  readonly path: string;
  readonly type: string;
  readonly size: number | null;
  readonly children?: readonly Listed[];
}

/** All entries of a listing, in the order of its tree. */
export const flattened = (entries: readonly Listed[] = []): Listed[] =>
  entries.flatMap((entry) => [entry, ...flattened(entry.children)]);
