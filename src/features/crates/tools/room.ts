/** What the tools of crates say of the settings, and what they work on. */
import type { Crates } from '../crates.ts';

/** What the settings say, which tools tell clients before anything is open. */
export interface CrateTerms {
  /** Whether a source or the place of packed crates is on another machine. */
  readonly hasRemoteSources: boolean;
  readonly usesEmbeddingsApi: boolean;
  readonly fileTtl: number;
  readonly maxTtl: number;
}

export interface CratesRoom {
  readonly crates: Crates;
  readonly fileTtl: number;
  readonly maxTtl: number;
  readonly baseUrl: () => string;
}
