import { after, before } from 'node:test';
import {
  connectServer,
  loadModelPackages,
  runAgent,
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type AgentServer,
} from '../../../packages/ask/agent.ts';
import { startServer, type TestServer } from '../../server.testing.ts';
import { startEndpoint, type Reaction, type ScriptedEndpoint } from './endpoint.testing.ts';

export interface Asked extends AgentResult {
  readonly endpoint: Pick<ScriptedEndpoint, 'requests' | 'headers'>;
  readonly events: readonly AgentEvent[];
}

type Given = Partial<Omit<AgentOptions, 'endpoint'>> & { readonly silenceMs?: number; readonly key?: string };

/** A real server, and an agent that works with it and an endpoint of its own for each request. */
export function useAgent() {
  let server: TestServer;
  let agentServer: AgentServer;
  before(async () => {
    server = await startServer();
    const signal = new AbortController().signal;
    agentServer = await connectServer({ url: server.url, key: null }, { answerQuestion: null, signal });
  });
  after(async () => {
    await agentServer[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  return {
    server: () => server,
    agentServer: () => agentServer,
    async ask(reactions: readonly Reaction[], given: Given = {}): Promise<Asked> {
      await using endpoint = await startEndpoint(...reactions);
      const { silenceMs = 60_000, key = null, ...more } = given;
      const events: AgentEvent[] = [];
      const result = await runAgent({
        request: 'Which files are there?',
        files: [],
        packages: await loadModelPackages(),
        endpoint: { url: endpoint.url, model: 'scripted', key, silenceMs },
        server: agentServer,
        chooseTools: (tools) => tools,
        maxSteps: 25,
        temperature: 0.7,
        firstPauseMs: 1,
        signal: new AbortController().signal,
        approve: async () => true,
        observe: (event) => void events.push(event),
        ...more,
      });
      return { ...result, endpoint, events };
    },
  };
}
