import type { EndpointOptions, Provider } from '../semantic/semantic.ts';
import type { NamedSource } from '../sync/watched.ts';

/** Where the index stands, and how crates are found by meaning. Plain data, for other threads. */
export interface IndexSettings {
  /** A postgres:// URL, or the path of a SQLite file. */
  readonly location: string;
  readonly semantics: Provider | 'off';
  readonly endpoint: EndpointOptions | null;
  /** The sources whose crates are found, as Source.url names them; left out: all that are in the index. */
  readonly sourceUrls?: readonly string[];
}

export interface IndexingSettings extends IndexSettings {
  readonly sources: readonly NamedSource[];
  readonly maxMetadata: number;
}
