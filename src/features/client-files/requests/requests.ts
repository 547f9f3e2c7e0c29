/**
 * The beginning of every request to a client: the answer of an earlier round, the project's folder, the check of the
 * path, and the choice of a method. It does not ask by itself (`methods.ts`) and reads nothing (`read.ts`, `list.ts`).
 */
import { inputRequired, type InputResponseView } from '@modelcontextprotocol/server';
import type { Clock } from '../../../platform/clock.ts';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { isWorkcrateError } from '../../../platform/errors.ts';
import type { Question, ToolContext } from '../../../core/offer/tool.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { TransferMethod } from '../client-file.ts';
import type { AgeTerms } from '../freshness.ts';
import {
  createPathsByProject,
  createPathPolicy,
  type AllowedPaths,
  type PathPolicy,
  type ProjectPaths,
} from '../policy/policy.ts';
import { clientUnsupportedError, createMissingWarning, describeOtherWays, toProjectKey } from './failures.ts';
import {
  supportsMethod,
  usualMethod,
  type FileRequest,
  type ClientSupport,
  type ClientInstructions,
  type RequestCall,
} from './file-request.ts';
import type { FilesystemChallenges } from './filesystem-challenge.ts';
import type { FileMethods } from './methods.ts';
import { fileAnswerKey, createProjectRoots, type QuestionState, type QuestionSubject } from './questions.ts';

/** What every request for something of a client's has. */
export interface RequestOptions {
  readonly path: string;
  /** The method to use; by default the file is read in place where that is allowed, else the agent's shell sends it. */
  readonly via?: TransferMethod | undefined;
  /** What the command of an offer printed. */
  readonly proof?: string | undefined;
  /** Whether the same call asks for other things too, so that an answer may be to one of those. */
  readonly amongOthers?: boolean | undefined;
}

export interface ReadFileOptions extends RequestOptions, AgeTerms {
  /** Of the text, by any of its names. */
  readonly encoding?: string | undefined;
  /** Whether the bytes matter, not a text. */
  readonly binary?: boolean | undefined;
  /** What the file is said to be; compared with what comes. */
  readonly size?: number | undefined;
  readonly sha256?: string | undefined;
}

export interface ListFolderOptions extends RequestOptions {
  readonly recursive?: boolean | undefined;
  readonly pattern?: string | undefined;
}

export interface ClientRequestsOptions {
  readonly methods: FileMethods;
  readonly proofs: FilesystemChallenges;
  /** The project's folder of clients on this machine that do not tell theirs; null where it was not set. */
  readonly root: string | null;
  readonly paths: AllowedPaths;
  /** Projects for which other paths are allowed. */
  readonly projects?: readonly ProjectPaths[];
  readonly clock: Clock;
  readonly log: Log;
}

/** A request whose path was checked. */
export interface PreparedRequest {
  readonly call: RequestCall;
  readonly policy: PathPolicy;
  /** The state of the question that this call answers; null if it answers none. */
  readonly state: QuestionState | null;
  /** Whether the file can be read without the client. */
  readonly isDirect: boolean;
}

type RequestTerms = Omit<FileRequest, 'operation' | 'path' | 'root' | 'projectKey'>;

const maxPolicies = 100;
/** No path is empty. */
const givenByHand: QuestionSubject = { operation: 'read', path: '' };

export type ClientRequests = ReturnType<typeof createRequests>;

/** Finds out which project is meant, checks the path, and chooses a method. */
export function createRequests(options: ClientRequestsOptions) {
  const { methods, proofs, root, paths, projects = [], clock, log } = options;
  const policies = new BoundedMap<string | null, PathPolicy>({
    mostEntries: maxPolicies,
    whenFull: 'clear',
  });
  const pathsIn = createPathsByProject(paths, projects);
  const check = (folder: string) => void createPathPolicy({ root: folder, ...pathsIn(folder) });
  const warnOfMissing = createMissingWarning(pathsIn, log);
  const roots = createProjectRoots({ root, check, clock });
  /** Rounds whose answer was taken: one call may ask for the same file twice. */
  const taken = new WeakSet<ToolContext['client']>();
  /** Whether paths can be checked only if the project's folder is known. */
  const dependsOnRoot =
    projects.length > 0 || [...(paths.read ?? []), ...(paths.list ?? [])].some(isAbsoluteClientPath);

  function policyOf(context: ToolContext): PathPolicy {
    const folder = roots.of(context);
    const known = policies.get(folder) ?? createPathPolicy({ root: folder, ...pathsIn(folder) });
    policies.set(folder, known);
    return known;
  }

  const askRoots = (subject: QuestionSubject, context: ToolContext): Question =>
    methods.questions.ask(subject, context, 'roots', () => inputRequired.listRoots());

  /** The answer to where the project is leads back to the beginning. */
  function takeAnswer(
    subject: QuestionSubject,
    context: ToolContext,
    input: RequestOptions,
  ): QuestionState | null {
    if (taken.has(context.client)) return null;
    const state = methods.questions.take(subject, context, input.amongOthers ?? false);
    if (state !== null) taken.add(context.client);
    if (state?.rung !== 'roots') return state;
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

  /** For files that the client gives by itself: they belong to the same project. */
  function policyFor(context: ToolContext): Pick<PathPolicy, 'root' | 'judge'> | Question {
    takeAnswer(givenByHand, context, { path: givenByHand.path, amongOthers: true });
    if (roots.canAsk(context)) return askRoots(givenByHand, context);
    const { root: folder, judge } = policyOf(context);
    return { root: toProjectKey(folder, context), judge };
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
      input: RequestOptions,
      terms: RequestTerms,
      context: ToolContext,
    ): PreparedRequest | Question {
      const subject = { operation, path: input.path };
      const state = takeAnswer(subject, context, input);
      // Asking for the project's folder first reveals nothing of a path that cannot be checked yet.
      const needsRoot = dependsOnRoot || isAbsoluteClientPath(input.path);
      if (state === null && needsRoot && roots.canAsk(context)) return askRoots(subject, context);
      const policy = policyOf(context);
      const path = policy.judge(input.path, operation);
      // Whose docs/a.md it is: another window of the same person may have another project.
      if (state === null && roots.canAsk(context)) return askRoots(subject, context);
      if (state === null && input.proof !== undefined) prove(context, policy, input.proof);
      const projectKey = toProjectKey(policy.root, context);
      const request: FileRequest = { operation, path, root: policy.root, projectKey, ...terms };
      const isProven = policy.root !== null && proofs.isProven(context.caller.user, policy.root);
      const isWanted = input.via === undefined || input.via === 'direct' || input.proof !== undefined;
      const isDirect = isProven && isWanted && getClientSupport(context, request).sharesProject;
      const about = { ...subject, root: policy.root };
      return { call: { request, subject: about, context }, policy, state, isDirect };
    },

    /** Asks the client by the wanted method, or by the best that it supports. */
    async ask({ call }: PreparedRequest, { via }: RequestOptions): Promise<Question | ClientInstructions> {
      const { request, context } = call;
      const support = getClientSupport(context, request);
      const rung = via ?? usualMethod;
      if (!supportsMethod(rung, request, support)) throw await unable(call, rung);
      return rung === 'direct' ? methods.offerProof(call) : methods.ask(rung, call);
    },
  };

  async function unable(call: RequestCall, rung: TransferMethod) {
    return clientUnsupportedError(unsupportedReasons[rung], describeOtherWays(await methods.offer(call)));
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
    return client.answer(fileAnswerKey);
  } catch (error) {
    if (!isWorkcrateError(error, 'client_refused') && !isWorkcrateError(error, 'client_timeout')) throw error;
    return { kind: 'missing' };
  }
}

const isAbsoluteClientPath = (path: string): boolean => /^(?:[/\\]|[a-z]:)/i.test(path);
