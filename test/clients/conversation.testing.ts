import type { ServerResponse } from 'node:http';

/** What the model received for one call of a tool: its texts as they are, and how many pictures. */
export interface Received {
  readonly text: string;
  readonly pictures: number;
}

/** What the model says next: it calls a tool of Workcrate or of the client, runs a command in the client's shell, or ends. */
export type Turn =
  | { readonly tool: string; readonly input: Record<string, unknown> }
  | { readonly ownTool: string; readonly input: Record<string, unknown> }
  | { readonly shell: string }
  | { readonly say: string };

/** The model's part of a conversation. Each step gets what was received for the call before. */
export type Script = readonly ((last: Received | null, all: readonly Received[]) => Turn)[];

/** How one client names tools in the requests to its model. */
export interface Naming {
  readonly tool: (name: string) => string;
  readonly shell: (command: string) => { readonly name: string; readonly input: Record<string, unknown> };
}

/** A call as it goes out to the client. */
export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly input: Record<string, unknown>;
}

/** One interface that models are served by: which requests are its own, what they hold, and how it answers. */
export interface ModelApi {
  readonly isRequest: (path: string) => boolean;
  /** Whether it is the conversation itself: clients ask for titles and the like beside it. */
  readonly isConversation: (body: never) => boolean;
  readonly received: (body: never) => readonly Received[];
  readonly answer: (response: ServerResponse, body: never, turn: ModelCall | string) => void;
}

/** Sends events of a stream, each under the name that it has in it. */
export function sendEvents(response: ServerResponse, events: readonly object[], end = ''): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    const name = 'type' in event ? `event: ${String(event.type)}\n` : '';
    response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end(end);
}
