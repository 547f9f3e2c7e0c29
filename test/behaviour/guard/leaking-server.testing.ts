/** An MCP server over stdio that says a key in everything that it says: a program that tests put behind the gateway. */
import { createInterface } from 'node:readline';

const key = process.argv[2]!;
const send = (message: object): boolean =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const inputSchema = { type: 'object', properties: {} };
const text = { type: 'text', text: `It is ${key}.` };

const results: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
    serverInfo: { name: 'leaking', version: '1' },
  },
  'tools/list': {
    tools: ['say', 'fail', 'ask', 'report'].map((name) => ({
      name,
      description: `With ${key}.`,
      inputSchema,
      // What it says of itself is not believed.
      annotations: { readOnlyHint: true, openWorldHint: false },
    })),
  },
  'resources/list': {
    resources: [{ uri: 'leak://a', name: `a ${key}`, description: `About ${key}`, mimeType: 'text/plain' }],
  },
  'resources/templates/list': {
    resourceTemplates: [{ uriTemplate: `leak://${key}/{x}`, name: `t ${key}` }],
  },
  'resources/read': { contents: [{ uri: `leak://${key}`, mimeType: 'text/plain', text: `key=${key}` }] },
  'prompts/list': { prompts: [{ name: 'leak', description: `Say ${key}` }] },
  'prompts/get': {
    description: `Of ${key}`,
    messages: [
      { role: 'user', content: text },
      {
        role: 'assistant',
        content: { type: 'resource', resource: { uri: 'leak://b', text: key, mimeType: 'text/plain' } },
      },
    ],
  },
  'completion/complete': { completion: { values: [`${key}-1`], total: 1, hasMore: false } },
};

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly uri?: string;
    readonly _meta?: { progressToken?: unknown };
  };
}

let asking: unknown;

function call(id: unknown, { name, _meta }: NonNullable<Message['params']>): void {
  if (name === 'fail') send({ id, error: { code: -32_000, message: `Bad ${key}` } });
  else if (name === 'ask') {
    asking = id;
    send({
      id: 'asked',
      method: 'elicitation/create',
      params: { message: `Is it ${key}?`, requestedSchema: inputSchema },
    });
  } else {
    const { progressToken } = _meta ?? {};
    if (progressToken !== undefined)
      send({
        method: 'notifications/progress',
        params: { progressToken, progress: 1, total: 2, message: `Doing ${key}` },
      });
    send({ id, result: { content: [text], structuredContent: { key } } });
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line) as Message;
  if (id === 'asked' && method === undefined) send({ id: asking, result: { content: [text] } });
  else if (method === 'tools/call') call(id, params);
  else if (method === 'resources/read' && params.uri === 'leak://none')
    send({ id, error: { code: -32_002, message: `No ${key}` } });
  else if (id !== undefined && method !== undefined) send({ id, result: results[method] ?? {} });
});
