/**
 * The beginning of every request to a client: the answer of an earlier round, the project's folder, the check of the
 * path, and the choice of a method. It does not ask by itself (`methods.ts`) and reads nothing (`read.ts`, `list.ts`).
 */
import { inputRequired, type InputResponseView } from '@modelcontextprotocol/server';
import type { Clock } from '../../clock.ts';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { isWorkcrateError } from '../../errors.ts';
import type { Question, ToolContext } from '../../mcp/tool.ts';
import type { Log } from '../../observability/log.ts';
import type { TransferMethod } from '../client-file.ts';
import {
  createPathsByProject,
  createPolicy,
  type AllowedPaths,
  type PathPolicy,
  type ProjectPaths,
} from '../policy/policy.ts';
import { clientUnsupportedError, createMissingWarning, describeClientMachine } from './failures.ts';
import {
  supportsMethod,
  chooseMethod,
  type FileRequest,
  type ClientSupport,
  type ClientInstructions,
  type RequestCall,
} from './file-request.ts';
import type { FilesystemChallenges } from './filesystem-challenge.ts';
import type { FileMethods } from './methods.ts';
import { answerKey, createProjectRoots, type QuestionState, type QuestionSubject } from './questions.ts';

/** What every request for something of a client's has. */
export interface RequestOptions {
  readonly path: string;
  /** The rung that is wanted; where nobody says, the best that this client can do. */
  readonly via?: TransferMethod | undefined;
  /** What the command of an offer printed. */
  readonly proof?: string | undefined;
  /** Whether the same call asks for other things too, so that an answer may be to one of those. */
  readonly amongOthers?: boolean | undefined;
}

export interface ReadFileOptions extends RequestOptions {
  /** Of the text, by any of its names. */
  readonly encoding?: string | undefined;
  /** Whether the bytes matter, not a text. */
  readonly binary?: boolean | undefined;
  /** What the file is said to be; compared with what comes. */
  readonly size?: number | undefined;
  readonly sha256?: string | undefined;
  /** Whether to pass over what is remembered. */
  readonly refresh?: boolean | undefined;
}

export interface ListFolderOptions extends RequestOptions {
  readonly recursive?: boolean | undefined;
  readonly pattern?: string | undefined;
}

export interface ClientRequestsOptions {
  readonly ladder: FileMethods;
  readonly proofs: FilesystemChallenges;
  /** The project's folder of clients on this machine that do not tell theirs; null where it was not set. */
  readonly root: string | null;
  readonly paths: AllowedPaths;
  /** Projects for which other paths are allowed. */
  readonly projects?: readonly ProjectPaths[];
  readonly clock: Clock;
  readonly log: Log;
}

/** A request whose path was judged. */
export interface PreparedRequest {
  readonly trip: RequestCall;
  readonly policy: PathPolicy;
  /** What the round before left, where this one brings an answer. */
  readonly left: QuestionState | null;
  /** Whether the file can be read without the client. */
  readonly isDirect: boolean;
}

type RequestTerms = Omit<FileRequest, 'operation' | 'path' | 'root' | 'place'>;

const maxPolicies = 100;
/** No path is empty. */
const givenByHand: QuestionSubject = { operation: 'read', path: '' };

export type ClientRequests = ReturnType<typeof createRequests>;

/** Finds out what is asked for, of which project, and by which way it may come. */
export function createRequests(options: ClientRequestsOptions) {
  const { ladder, proofs, root, paths, projects = [], clock, log } = options;
  const policies = new BoundedMap<string | null, PathPolicy>({
    mostEntries: maxPolicies,
    whenFull: 'clear',
  });
  const pathsIn = createPathsByProject(paths, projects);
  const check = (folder: string) => void createPolicy({ root: folder, ...pathsIn(folder) });
  const warnOfMissing = createMissingWarning(pathsIn, log);
  const roots = createProjectRoots({ root, check, clock });
  /** Rounds whose answer was taken: a call may look twice for the same. */
  const taken = new WeakSet<ToolContext['client']>();
  /** Whether a path can be judged only by who knows the project's folder. */
  const dependsOnRoot =
    projects.length > 0 || [...(paths.read ?? []), ...(paths.list ?? [])].some(isAbsoluteClientPath);

  function policyOf(context: ToolContext): PathPolicy {
    const folder = roots.of(context);
    const known = policies.get(folder) ?? createPolicy({ root: folder, ...pathsIn(folder) });
    policies.set(folder, known);
    return known;
  }

  const askRoots = (subject: QuestionSubject, context: ToolContext): Question =>
    ladder.questions.ask(subject, context, 'roots', () => inputRequired.listRoots());

  /** The answer to where the project is leads back to the beginning. */
  function takeAnswer(
    subject: QuestionSubject,
    context: ToolContext,
    wish: RequestOptions,
  ): QuestionState | null {
    if (taken.has(context.client)) return null;
    const left = ladder.questions.take(subject, context, wish.amongOthers ?? false);
    if (left !== null) taken.add(context.client);
    if (left?.rung !== 'roots') return left;
    roots.tell(context, readClientAnswer(context));
    return null;
  }

  function prove(context: ToolContext, { root: folder }: PathPolicy, proof: string): void {
    if (!context.sharesMachine || folder === null)
      throw clientUnsupportedError(
        'This server cannot read the files of this client directly.',
        'call without proof.',
      );
    const { user } = context.caller;
    if (proofs.isProven(user, folder)) return;
    proofs.prove(user, folder, proof);
    warnOfMissing([folder]);
  }

  /** For what is no errand, such as what is given by hand: the same project has to be known. */
  function policyFor(context: ToolContext): Pick<PathPolicy, 'root' | 'judge'> | Question {
    takeAnswer(givenByHand, context, { path: givenByHand.path, amongOthers: true });
    if (roots.canAsk(context)) return askRoots(givenByHand, context);
    const { root: folder, judge } = policyOf(context);
    return { root: describeClientMachine(folder, context), judge };
  }

  return {
    policyFor,
    warnOfMissing,

    demand(path: string, context: ToolContext): null {
      const isKnown = !(dependsOnRoot || isAbsoluteClientPath(path)) || !roots.canAsk(context);
      if (isKnown) policyOf(context).judge(path, 'read');
      return null;
    },

    begin(
      operation: FileRequest['operation'],
      wish: RequestOptions,
      terms: RequestTerms,
      context: ToolContext,
    ): PreparedRequest | Question {
      const subject = { operation, path: wish.path };
      const left = takeAnswer(subject, context, wish);
      // Nothing of the path is told by asking for the folder without which it cannot be judged.
      const needsRoot = dependsOnRoot || isAbsoluteClientPath(wish.path);
      if (left === null && needsRoot && roots.canAsk(context)) return askRoots(subject, context);
      const policy = policyOf(context);
      const path = policy.judge(wish.path, operation);
      // Whose docs/a.md it is: another window of the same person may have another project.
      if (left === null && roots.canAsk(context)) return askRoots(subject, context);
      if (left === null && wish.proof !== undefined) prove(context, policy, wish.proof);
      const place = describeClientMachine(policy.root, context);
      const errand: FileRequest = { operation, path, root: policy.root, place, ...terms };
      const isProven = policy.root !== null && proofs.isProven(context.caller.user, policy.root);
      const isWanted = wish.via === undefined || wish.via === 'direct' || wish.proof !== undefined;
      const isDirect = isProven && isWanted && getClientSupport(context, errand).sharesProject;
      const about = { ...subject, root: policy.root };
      return { trip: { errand, subject: about, context }, policy, left, isDirect };
    },

    /** Asks the client by the rung that is wanted, or by the best that it can bear. */
    async ask({ trip }: PreparedRequest, { via }: RequestOptions): Promise<Question | ClientInstructions> {
      const { errand, context } = trip;
      const support = getClientSupport(context, errand);
      const rung = via ?? chooseMethod(errand, support);
      if (!supportsMethod(rung, errand, support)) throw await unable(trip, rung);
      return rung === 'direct' ? ladder.offerProof(trip) : ladder.ask(rung, trip);
    },
  };

  async function unable(trip: RequestCall, rung: TransferMethod) {
    const offer = (await ladder.ask('upload', trip)) as ClientInstructions;
    return clientUnsupportedError(
      unsupportedReasons[rung],
      `run this with sh in the project's folder and call again without via: ${offer.command}\nWithout a shell: give the user this page to upload it, ${offer.pageUrl}`,
    );
  }
}

const getClientSupport = ({ client, sharesMachine }: ToolContext, { root }: FileRequest): ClientSupport => ({
  capabilities: client.capabilities,
  sharesProject: sharesMachine && root !== null,
});

const unsupportedReasons: Readonly<Record<TransferMethod, string>> = {
  direct: 'This server cannot read the files of this client directly, or does not know where its project is.',
  upload: 'Nothing can be sent to this server.',
  url: 'This client cannot open pages for its user: it declared no URL elicitation.',
  form: 'This client cannot show forms (it declared no form elicitation), or this is not a small text.',
  sampling: 'This client offers no model (it declared no sampling), or the file is too large for one.',
};

/** A client that does not say where its project is can be asked for its files all the same. */
function readClientAnswer({ client }: ToolContext): InputResponseView {
  try {
    return client.answer(answerKey);
  } catch (error) {
    if (!isWorkcrateError(error, 'client_refused') && !isWorkcrateError(error, 'client_timeout')) throw error;
    return { kind: 'missing' };
  }
}

const isAbsoluteClientPath = (path: string): boolean => /^(?:[/\\]|[a-z]:)/i.test(path);
