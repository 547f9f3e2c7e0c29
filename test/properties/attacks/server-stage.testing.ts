import type { TestServer, ToolReply } from '../../server.testing.ts';
import type { Wall } from './attack.testing.ts';

/** An attack on what the server does with what a run leaves and says. */
export interface ServerAttack {
  readonly name: string;
  readonly wall: Wall;
  readonly mustNotHappen: string;
  /** Plays it. What got through, or null. */
  readonly play: (stage: ServerStage) => Promise<string | null>;
}

export interface ServerStage {
  readonly server: TestServer;
  /** A folder in the data of the server, and what is in it. */
  readonly secret: { readonly folder: string; readonly file: string; readonly text: string };
  /** Runs code in /workspace, and fails where it fails. */
  run(code: string, more?: object): Promise<ToolReply>;
  /** Starts code that goes on while the server is asked for something. */
  beside(code: string): Promise<ToolReply>;
}

/** Everything that the server tells, as one text. */
export function allOf(reply: ToolReply): string {
  return JSON.stringify(reply.raw) + Buffer.from(String(reply.data?.data ?? ''), 'base64').toString('latin1');
}
