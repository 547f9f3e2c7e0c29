import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  inputResponse,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequest,
  type InputRequiredResult,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { inWords } from './asking.ts';
import { askColour, askConfirmation, askName, askSampling } from './questions.ts';
import { saying } from './samples.ts';

type Questions = Record<string, InputRequest>;
type Answer = Promise<CallToolResult | InputRequiredResult>;

const everything: Questions = {
  user_name: askName('What is your name?'),
  greeting: askSampling('Generate a greeting'),
  client_roots: inputRequired.listRoots(),
};

const oneByOne: readonly Questions[] = [
  { step1: askName('Step 1: What is your name?') },
  { step2: askColour },
];

/** Tools whose state travels with the question to the client and back. */
export function addAskingInRounds(server: McpServer, state: RequestStateCodec): void {
  const inRounds = (name: string, rounds: readonly Questions[]): void =>
    void server.registerTool(name, { description: `Asks the client in ${rounds.length} rounds` }, (context) =>
      nextRound(context, rounds, state),
    );
  inRounds('test_input_required_result_request_state', [{ confirm: askConfirmation }]);
  inRounds('test_input_required_result_tampered_state', [{ confirm: askConfirmation }]);
  inRounds('test_input_required_result_multiple_inputs', [everything]);
  inRounds('test_input_required_result_multi_round', oneByOne);
  server.registerTool(
    'test_input_required_result_capabilities',
    { description: 'Asks only what the client can answer' },
    (context) => nextRound(context, [answerable(capabilitiesOf(server, context))], state),
  );
}

/** The state says which round was asked; a round that was not answered in full is asked again. */
async function nextRound(
  context: ServerContext,
  rounds: readonly Questions[],
  state: RequestStateCodec,
): Answer {
  const asked = context.mcpReq.requestState<{ round: number }>()?.round ?? -1;
  const answers = Object.keys(rounds[asked] ?? {}).map((key) =>
    inputResponse(context.mcpReq.inputResponses, key),
  );
  const round = answers.some(({ kind }) => kind === 'missing') ? asked : asked + 1;
  const inputRequests = rounds[round];
  if (!inputRequests) return saying(`state-ok. ${answers.map(inWords).join('; ')}`);
  return inputRequired({ inputRequests, requestState: await state.mint({ round }, context) });
}

/** From 2026-07-28 on every request says what the client can do; before, the handshake did. */
function capabilitiesOf(server: McpServer, { mcpReq }: ServerContext): ClientCapabilities {
  const envelope = mcpReq.envelope as Record<string, ClientCapabilities> | undefined;
  return envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities() ?? {};
}

function answerable({ elicitation, sampling, roots }: ClientCapabilities): Questions {
  const { user_name, greeting, client_roots } = everything;
  return {
    ...(elicitation && { user_name: user_name! }),
    ...(sampling && { greeting: greeting! }),
    ...(roots && { client_roots: client_roots! }),
  };
}
