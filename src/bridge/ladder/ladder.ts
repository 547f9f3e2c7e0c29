import type { Question, ToolContext } from '../../mcp/tool.ts';
import type { Rung } from '../client-file.ts';
import { createAwaited, type AwaitedOptions } from './awaited.ts';
import type { Errand, Offer } from './errand.ts';
import { formAnswer, formRequest } from './form.ts';
import { createPages } from './pages.ts';
import type { Proofs } from './proofs.ts';
import { answerKey, createQuestions, type AskOptions, type Left } from './question.ts';
import { samplingAnswer, samplingRequest } from './sampling.ts';
import { sendFile, sendListing } from './shell.ts';
import type { Taking, Trip, Use } from './trip.ts';

export interface LadderOptions extends AwaitedOptions, AskOptions {
  readonly proofs: Proofs;
  /** The base of the URLs handed out. A function, since the port may be known only later. */
  readonly baseUrl: () => string;
}

export type Ladder = ReturnType<typeof createLadder>;

/** The ways of asking. What can be asked of which client is not judged here. */
export function createLadder(options: LadderOptions) {
  const { proofs, baseUrl, timeoutMs } = options;
  const questions = createQuestions(options);
  const awaited = createAwaited(options);

  /** What was sent meanwhile, and since that moment; or null. */
  const arrived = <T>({ errand, context }: Trip, use: Use<T>, since = 0): Promise<T | null> =>
    awaited.taking(
      context.caller,
      errand,
      ({ file, rung, read, keep }) => use(read(), { ...unsaid, rung, stored: { file, keep } }),
      since,
    );

  const pages = createPages({ questions, awaited, arrived, baseUrl, timeoutMs });

  async function offer({ errand, context }: Trip): Promise<Offer> {
    const { token, expiresAt } = await awaited.expect(context.caller, errand, 'upload');
    const uploadUrl = `${baseUrl()}/uploads/${token}`;
    const command =
      errand.operation === 'read' ? sendFile(errand, uploadUrl) : sendListing(errand, uploadUrl);
    const path = errand.path.relative;
    const proofCommand = proofFor(errand, context)?.command ?? null;
    const pageUrl = `${baseUrl()}/ask/${token}`;
    return { offer: 'upload', path, rung: 'upload', command, uploadUrl, pageUrl, expiresAt, proofCommand };
  }

  function proofFor({ root }: Errand, { caller, sharesMachine }: ToolContext) {
    if (!sharesMachine || root === null || proofs.isProven(caller.user, root)) return null;
    return proofs.challenge(caller.user, root);
  }

  function offerProof({ errand, context }: Trip): Offer {
    const { command, until } = proofs.challenge(context.caller.user, errand.root!);
    const path = errand.path.relative;
    return {
      offer: 'proof',
      path,
      rung: 'direct',
      command,
      uploadUrl: null,
      pageUrl: null,
      expiresAt: until,
      proofCommand: command,
    };
  }

  return {
    questions,
    arrived,
    offerProof,
    page: awaited.page,

    /** What came earlier and stayed stored. */
    kept: ({ errand, context }: Trip) => awaited.kept(context.caller, errand),
    forgetKept: awaited.forgetKept,
    outdate: awaited.outdate,

    /** Asks by one rung; what comes back is not the answer yet. */
    async ask(rung: Exclude<Rung, 'direct'>, trip: Trip): Promise<Question | Offer> {
      const { errand, subject, context } = trip;
      if (rung === 'upload') return offer(trip);
      if (rung === 'url') return pages.ask(trip, 0);
      if (rung === 'form') return questions.ask(subject, context, 'form', () => formRequest(errand));
      const withTools = context.client.capabilities.sampling?.tools !== undefined;
      const request = (mark: string) => samplingRequest(errand, mark, withTools);
      return questions.ask(subject, context, 'sampling', request);
    },

    /** What the client answered to that; null where a model says that it gave it by another way. */
    async answered<T>(trip: Trip, left: Left, taking: Taking<T>): Promise<T | Question | null> {
      const { errand, context } = trip;
      const { use } = taking;
      if (left.rung === 'url') return pages.answered(trip, left, taking);
      const answer = context.client.answer(answerKey);
      const encoding = errand.binary ? null : 'utf-8';
      const told = { from: 'root', size: null, sha256: null, encoding, stored: null } as const;
      if (left.rung === 'form') return use(once(formAnswer(errand, answer)), { ...told, rung: 'form' });
      const typed = samplingAnswer(errand, left.nonce, answer);
      if (typed === null) return null;
      const { bytes, size, sha256 } = typed;
      return use(once(bytes), { ...told, rung: 'sampling', size, sha256 });
    },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const unsaid = { from: 'folder', size: null, sha256: null, encoding: null } as const;
