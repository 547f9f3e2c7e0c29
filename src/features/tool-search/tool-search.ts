/**
 * Finds tools for what somebody wants to do, and chooses those that a model sees. `searchTools` ranks, `chooseListedTools` makes
 * an offer of at most 25 for one request. It calls no tool (`tools.ts` does) and does not know who may use one: it is
 * given those that a caller may.
 */
export { chooseListedTools, type ChooseOptions } from './choose.ts';
export { loadRoutes } from './route-file.ts';
export type { ToolRoutes } from './routes.ts';
export { searchTools } from './search.ts';
export type { SearchableTool } from './fields.ts';
