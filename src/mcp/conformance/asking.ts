import {
  inputRequired,
  inputResponse,
  type CallToolResult,
  type InputRequest,
  type InputRequiredResult,
  type InputResponseView,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { askColour, askDefaults, askEnums, askName, askSampling, askUser } from './questions.ts';
import { saying } from './samples.ts';

/**
 * Tools that ask the client one thing. Written once for all versions: to clients of the older ones, the SDK
 * sends the question as a request and calls the tool again with the answer.
 */
export function addAskingTools(server: McpServer): void {
  const asking = (name: string, key: string, request: InputRequest): void =>
    void server.registerTool(name, { description: `Asks the client for ${key}` }, (context) =>
      askOnce(context, key, request),
    );
  asking('test_elicitation_sep1034_defaults', 'defaults', askDefaults);
  asking('test_elicitation_sep1330_enums', 'enums', askEnums);
  asking('test_streaming_elicitation', 'colour', askColour);
  asking('test_missing_capability', 'sample', askSampling('Say anything'));
  asking('test_input_required_result_elicitation', 'user_name', askName('What is your name?'));
  asking(
    'test_input_required_result_sampling',
    'capital_question',
    askSampling('What is the capital of France?'),
  );
  asking('test_input_required_result_list_roots', 'client_roots', inputRequired.listRoots());
  server.registerTool(
    'test_sampling',
    { description: 'Asks the client’s model', inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, context) => askOnce(context, 'sample', askSampling(prompt)),
  );
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the user', inputSchema: z.object({ message: z.string() }) },
    ({ message }, context) => askOnce(context, 'user', askUser(message)),
  );
}

function askOnce(
  { mcpReq }: ServerContext,
  key: string,
  request: InputRequest,
): CallToolResult | InputRequiredResult {
  const answer = inputResponse(mcpReq.inputResponses, key);
  if (answer.kind === 'missing') return inputRequired({ inputRequests: { [key]: request } });
  return saying(inWords(answer));
}

export function inWords(answer: InputResponseView): string {
  if (answer.kind === 'sampling') return `LLM response: ${JSON.stringify(answer.result.content)}`;
  if (answer.kind === 'roots') return `Roots: ${answer.roots.map((root) => root.uri).join(', ')}`;
  if (answer.kind === 'missing') return 'No answer';
  return `User response: action=${answer.action}, content=${JSON.stringify(answer.content)}`;
}
