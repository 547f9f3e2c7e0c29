import type { Client, InputRequests } from '@modelcontextprotocol/client';
import { replyOf } from '../../server.testing.ts';
import type { Reply } from './clients.testing.ts';

/** What the server asks in place of an answer, as MCP 2026-07-28 has it. */
export interface Asked {
  readonly requests: InputRequests;
  readonly state: string;
}

/** What a client brings back. It may bring anything. */
export interface Back {
  readonly inputResponses?: Record<string, unknown>;
  readonly requestState?: string;
}

/** One round of a call, by hand: gives what is asked, or the answer. */
export async function round(
  client: Client,
  name: string,
  input: Record<string, unknown>,
  back: Back = {},
): Promise<{ asked: Asked; reply: null } | { asked: null; reply: Reply }> {
  const params = { name, arguments: input, ...back } as Parameters<Client['callTool']>[0];
  const result = await client.callTool(params, { allowInputRequired: true });
  const { inputRequests, requestState } = result as unknown as {
    inputRequests?: InputRequests;
    requestState?: string;
  };
  if (inputRequests === undefined) return { asked: null, reply: replyOf(result) };
  return { asked: { requests: inputRequests, state: requestState! }, reply: null };
}

/** Asks for something, and gives what the server asks back. */
export async function questionOf(
  client: Client,
  name: string,
  input: Record<string, unknown>,
): Promise<Asked> {
  const { asked, reply } = await round(client, name, input);
  if (asked === null) throw new Error(`nothing was asked: ${reply.text}`);
  return asked;
}
