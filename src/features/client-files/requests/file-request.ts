/** The types of a request to a client, and which methods a client supports. It asks nobody. */
import type { ClientCapabilities } from '@modelcontextprotocol/server';
import type { ToolContext } from '../../../core/offer/tool.ts';
import type { ClientPath, TransferMethod } from '../client-file.ts';
import type { PathBase } from '../policy/policy.ts';
import type { ReceivedFile } from './pending-uploads.ts';
import type { QuestionSubject } from './questions.ts';

/** What a client is asked for, after its path was checked. */
export interface FileRequest {
  readonly operation: 'read' | 'list';
  readonly path: ClientPath;
  /** The client's project folder; null if it is unknown. */
  readonly root: string | null;
  /** Reading: the bytes matter, not a text. */
  readonly binary: boolean;
  /** Reading: what the file is said to be; compared with what comes. */
  readonly size: number | null;
  readonly sha256: string | null;
  /** Which project it is, and on which machine: the key of everything that is remembered. */
  readonly projectKey: string | null;
  /** Listing. */
  readonly recursive: boolean;
  readonly pattern: string | null;
}

/** What a client says of an entry of a folder. Nothing of it has been checked. */
export interface RawEntry {
  readonly path: string;
  readonly type: string | null;
  readonly size: number | null;
  readonly mtime: number | null;
}

/** What the agent can do by itself before it calls again. Not a failure: most agents have a shell. */
export interface ClientInstructions {
  readonly offer: 'upload' | 'proof';
  /** From the project's folder. */
  readonly path: string;
  readonly rung: TransferMethod;
  /** For sh, in the project's folder. */
  readonly command: string;
  /** What takes the place of `-printf …` in it on macOS and BSD; null where nothing has to. */
  readonly bsdForm: string | null;
  readonly uploadUrl: string | null;
  /** Where a person sends the same; null for a proof. */
  readonly pageUrl: string | null;
  /** In milliseconds. */
  readonly expiresAt: number;
  /** A command whose output, given as `proof`, lets files be read without being sent; null where that cannot be. */
  readonly proofCommand: string | null;
  /** By which the client said that it can be asked. */
  readonly askable: readonly AskingMethod[];
}

export const isInstructions = (answer: object): answer is ClientInstructions => 'offer' in answer;

export type FileRequestKey = Pick<FileRequest, 'operation' | 'path' | 'projectKey' | 'recursive' | 'pattern'>;

/** The same for two requests of a user that ask for the same thing. */
export function toRequestKey({ operation, path, projectKey, recursive, pattern }: FileRequestKey): string {
  return JSON.stringify([projectKey, operation, path.relative, recursive, pattern]);
}

/** The last name of a path, for people to read. */
export const getRequestName = (path: ClientPath): string => path.relative.split('/').at(-1) || 'project';

/** How something came, and what was said of it. */
export interface AnswerSource {
  readonly rung: TransferMethod;
  /** Which folder the paths of a listing start from. */
  readonly from: PathBase;
  readonly size: number | null;
  readonly sha256: string | null;
  /** Of what was typed: it is text, and in no other. */
  readonly encoding: string | null;
  /** When it came, in milliseconds. */
  readonly receivedAt: number;
  /** Where it came as a stored file, which goes unless it is kept. */
  readonly stored: Pick<ReceivedFile, 'file' | 'keep'> | null;
}

/** What to do with the bytes that came. It is called once. */
export type UseAnswer<T> = (chunks: AsyncIterable<Uint8Array>, source: AnswerSource) => Promise<T>;

/** Where an answer comes from: the bytes that came, or another call that got them meanwhile. */
export interface AnswerHandlers<T> {
  readonly use: UseAnswer<T>;
  readonly meanwhile: () => T | null;
}

/** A request, and the tool call that it is made for. */
export interface RequestCall {
  readonly request: FileRequest;
  readonly subject: QuestionSubject;
  readonly context: ToolContext;
}

/** What can come by a form, or by a model that types it. */
export const maxTypedBytes = 64 * 1024;

export interface ClientSupport {
  readonly capabilities: ClientCapabilities;
  /** Whether this process can read the client's project itself, and knows where it is. */
  readonly sharesProject: boolean;
}

/** Whether a client supports a method for this request. */
export function supportsMethod(
  rung: TransferMethod,
  request: FileRequest,
  { capabilities, sharesProject }: ClientSupport,
): boolean {
  const { elicitation, sampling } = capabilities;
  const isSmall = request.size === null || request.size <= maxTypedBytes;
  switch (rung) {
    case 'direct':
      return sharesProject;
    case 'upload':
      return true;
    case 'url':
      return elicitation?.url !== undefined;
    case 'form':
      // Before there were modes, a bare `elicitation` meant forms.
      return elicitation !== undefined && hasForms(elicitation) && !request.binary && isSmall;
    case 'sampling':
      return sampling !== undefined && isSmall;
  }
}

const hasForms = ({ form, url }: NonNullable<ClientCapabilities['elicitation']>): boolean =>
  form !== undefined || url === undefined;

/** In this order, since a person at a page is surer than a model that retypes a file. */
const askingMethods = ['url', 'form', 'sampling'] as const;

/** The methods by which a person or a model is asked. */
export type AskingMethod = (typeof askingMethods)[number];

/** By which of them this client said that it can be asked. */
export const listAskable = (request: FileRequest, support: ClientSupport): AskingMethod[] =>
  askingMethods.filter((rung) => supportsMethod(rung, request, support));

/** Nobody is asked unless a call says so: most agents have a shell, and many clients decline for their users. */
export const usualMethod: TransferMethod = 'upload';
