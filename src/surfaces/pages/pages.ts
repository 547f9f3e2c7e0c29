/**
 * The door of this room: the routes of the page at `/`. Reading is GET; every change is a POST with a token that only a
 * page of this server has for this user, and ends in a redirect. It authenticates nobody: `surfaces/http/` does, before any route.
 */
import { Hono } from 'hono';
import type { CrateViews } from '../../features/crates/views.ts';
import type { Toolbox } from '../../core/offer/toolbox.ts';
import { renderConnect, type ConnectLine } from './connect.ts';
import { addCrateRoutes } from './crates.ts';
import { addDocumentRoutes } from './documents.ts';
import { createFeeds } from './feed.ts';
import { copyScript, createFormTokens } from './frame.ts';
import { addGraphRoutes } from './run-graph.ts';
import type { LibraryRooms } from './library-rooms.ts';
import { addLibraryRoutes } from './library.ts';
import { addOperatorRoutes } from './operate.ts';
import type { OperatorAccess } from './operate-access.ts';
import { createPageTools, createRouting, type RoutingOptions } from './routing.ts';
import { addRunRoutes, type RunRoutesOptions } from './run-routes.ts';
import { addSessionRoutes, type SessionRoutesOptions } from './sessions.ts';
import { addSignInRoutes, type SignInOptions } from './sign-in.ts';
import { addUsageRoute, type ReadUsage } from './usage.ts';

export type * from './operate-access.ts';
export { mayOperate } from './routing.ts';
export { sumSpace } from './operate-users.ts';
export type { Visitor } from './routing.ts';
export type { ReadUsage, UsageReport } from './usage.ts';

export interface PageRoutesOptions extends Omit<RoutingOptions, 'tools' | 'tokens'>, SignInOptions {
  readonly toolbox: Toolbox;
  readonly crates: CrateViews;
  readonly executions: RunRoutesOptions['executions'] & SessionRoutesOptions['executions'];
  readonly keptResults: RunRoutesOptions['keptResults'];
  readonly sessions: SessionRoutesOptions['sessions'];
  readonly files: RunRoutesOptions['files'];
  readonly artifacts: RunRoutesOptions['artifacts'];
  readonly library: LibraryRooms;
  /** How clients are connected to this server. */
  readonly connectLines: () => readonly ConnectLine[];
  readonly operatorAccess: OperatorAccess;
  readonly readUsage: ReadUsage;
  /** The same for all servers of a team. */
  readonly formSecret: Uint8Array;
}

/** Whether a path is one of these pages: only there a cookie signs in. */
export const isPage = (path: string): boolean =>
  /^\/(?:$|(?:runs|sessions|library|crates|documents|connect|usage|operate|sign-out)(?:\/|$))/.test(path);

export function createPageRoutes(options: PageRoutesOptions): Hono {
  const tools = createPageTools(options.toolbox);
  const tokens = createFormTokens(options.formSecret);
  const routing = createRouting({ ...options, tools, tokens });
  const routes = new Hono();
  const feeds = createFeeds();
  addRunRoutes(routes, routing, { ...options, noted: options.library.noted, feeds });
  addSessionRoutes(routes, routing, { ...options, feeds });
  addLibraryRoutes(routes, routing, options.library);
  addCrateRoutes(routes, routing, options.crates);
  addGraphRoutes(routes, routing);
  addDocumentRoutes(routes, routing);
  routes.get(
    '/connect',
    routing.show('/connect', 'Connect', async () => renderConnect(options.connectLines()), copyScript),
  );
  addUsageRoute(routes, routing, options.readUsage);
  addOperatorRoutes(routes, routing, options.operatorAccess);
  addSignInRoutes(routes, routing, options, isPage);
  return routes;
}
