/** The types of a request to a client, and which methods a client supports. It asks nobody. */
import type { ClientCapabilities } from '@modelcontextprotocol/server';
import type { ToolContext } from '../../mcp/tool.ts';
import type { ClientPath, TransferMethod } from '../client-file.ts';
import type { PathBase } from '../policy/policy.ts';
import type { ReceivedFile } from './pending-uploads.ts';
import type { QuestionSubject } from './questions.ts';

/** What is to be had of a client, after its path was judged. */
export interface FileRequest {
  readonly operation: 'read' | 'list';
  readonly path: ClientPath;
  /** The client's project folder; null where nobody told. */
  readonly root: string | null;
  /** Reading: the bytes matter, not a text. */
  readonly binary: boolean;
  /** Reading: what the file is said to be; compared with what comes. */
  readonly size: number | null;
  readonly sha256: string | null;
  /** Of which project it is, and seen from where: what is remembered goes by it. */
  readonly place: string | null;
  /** Listing. */
  readonly recursive: boolean;
  readonly pattern: string | null;
}

/** What a client says of a thing in a folder, unjudged. */
export interface RawEntry {
  readonly path: string;
  readonly type: string | null;
  readonly size: number | null;
  readonly mtime: number | null;
}

/** What the client can do for itself, then call again. Not a failure: most agents have a shell. */
export interface ClientInstructions {
  readonly offer: 'upload' | 'proof';
  /** From the project's folder. */
  readonly path: string;
  readonly rung: TransferMethod;
  /** For sh, in the project's folder. */
  readonly command: string;
  readonly uploadUrl: string | null;
  /** Where a person sends the same; null for a proof. */
  readonly pageUrl: string | null;
  /** In milliseconds. */
  readonly expiresAt: number;
  /** A command whose output, given as `proof`, lets files be read without being sent; null where that cannot be. */
  readonly proofCommand: string | null;
}

export const isInstructions = (answer: object): answer is ClientInstructions => 'offer' in answer;

export type FileRequestKey = Pick<FileRequest, 'operation' | 'path' | 'place' | 'recursive' | 'pattern'>;

/** Tells errands of a user apart of which one has nothing to say about the other. */
export function toRequestKey({ operation, path, place, recursive, pattern }: FileRequestKey): string {
  return JSON.stringify([place, operation, path.relative, recursive, pattern]);
}

/** The last name of a path, for people to read. */
export const getRequestName = (path: ClientPath): string => path.relative.split('/').at(-1) || 'project';

/** How something came, and what was said of it. */
export interface AnswerSource {
  readonly rung: TransferMethod;
  /** From where on the paths of a listing are told. */
  readonly from: PathBase;
  readonly size: number | null;
  readonly sha256: string | null;
  /** Of what was typed: it is text, and in no other. */
  readonly encoding: string | null;
  /** Where it came as a stored file, which goes unless it is kept. */
  readonly stored: Pick<ReceivedFile, 'file' | 'keep'> | null;
}

/** What is done with that which came. It gets it once. */
export type UseAnswer<T> = (chunks: AsyncIterable<Uint8Array>, source: AnswerSource) => Promise<T>;

/** How an answer is had: from what came, or from another call that had it meanwhile. */
export interface AnswerHandlers<T> {
  readonly use: UseAnswer<T>;
  readonly meanwhile: () => T | null;
}

/** An errand and the call that it is run for. */
export interface RequestCall {
  readonly errand: FileRequest;
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

/** Whether a rung can bear an errand at all. */
export function supportsMethod(
  rung: TransferMethod,
  errand: FileRequest,
  { capabilities, sharesProject }: ClientSupport,
): boolean {
  const { elicitation, sampling } = capabilities;
  const isSmall = errand.size === null || errand.size <= maxTypedBytes;
  switch (rung) {
    case 'direct':
      return sharesProject;
    case 'upload':
      return true;
    case 'url':
      return elicitation?.url !== undefined;
    case 'form':
      // Before there were modes, a bare `elicitation` meant forms.
      return elicitation !== undefined && hasForms(elicitation) && !errand.binary && isSmall;
    case 'sampling':
      return sampling !== undefined && isSmall;
  }
}

const hasForms = ({ form, url }: NonNullable<ClientCapabilities['elicitation']>): boolean =>
  form !== undefined || url === undefined;

/** In this order, since a person at a page is surer than a model that retypes a file. */
const askingMethods = ['url', 'form', 'sampling'] as const;

/** The way that is taken where nobody chose one: the client is asked where it can be, else its agent's shell sends. */
export const chooseMethod = (errand: FileRequest, footing: ClientSupport): TransferMethod =>
  askingMethods.find((rung) => supportsMethod(rung, errand, footing)) ?? 'upload';
