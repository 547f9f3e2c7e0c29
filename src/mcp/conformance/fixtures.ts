import type { McpServer } from '@modelcontextprotocol/server';
import type { ServerParts } from '../server.ts';
import { addAskingTools } from './asking.ts';
import { addAskingInRounds } from './asking-in-rounds.ts';
import { addCancelling } from './cancelling.ts';
import { addContentTools } from './content.ts';
import { addPrompts } from './prompts.ts';
import { addReportingTools } from './reporting.ts';
import { addResources } from './resources.ts';
import { addSchemaTools } from './schemas.ts';

/** What the official conformance suite demands of a server under test. Switched on by `--conformance`. */
export function addFixtures(server: McpServer, { addTool, state }: ServerParts): void {
  addContentTools(server);
  addSchemaTools(server);
  addReportingTools(server);
  addAskingTools(server);
  addAskingInRounds(server, state);
  addPrompts(server);
  addResources(server);
  addCancelling(addTool);
}
