/**
 * The door of the search by meaning (embeddings). `createMeaning` reads and `createFitting` writes, each in a thread of
 * its own. Who may see a crate, and the ranking by words (BM25F), are matters of `index/`.
 */
export type { SemanticDocument } from './document.ts';
export type { EndpointOptions } from './endpoint.ts';
export { createFitting, type Fitting, type FittingOptions } from './fitting.ts';
export { createMeaning, type MeaningOptions } from './meaning.ts';
export type { Provider } from './models.ts';
