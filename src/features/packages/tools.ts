/**
 * The tools `install_packages`, `list_packages` and `remove_packages`. They translate between MCP and `packages.ts`. The
 * texts are in `text.ts`, the schemas in `schema.ts`.
 */
import { z } from 'zod';
import { declareTool, readEndOfCall, type DeclaredTool, type ToolContext } from '../../core/offer/tool.ts';
import type { PackageChange } from './install.ts';
import type { JobTerms, RunningJob } from './jobs.ts';
import type { Packages } from './packages.ts';
import {
  changeShape,
  installInput,
  packageListShape,
  removeInput,
  showChange,
  showList,
  showRunningInstall,
} from './schema.ts';
import { describeChange, describePackageList, describeRunningInstall } from './text.ts';

/** What these tools work on. */
export interface PackagesRoom {
  readonly packages: Packages;
  /** After so long a client that cannot wait is answered; null for never. */
  readonly detachMs: number | null;
}

/** One that is cancelled ends. One whose client went away goes on: what it fetches is wanted all the same. */
function toJobTerms({ signal, canWait, progress }: ToolContext, detachMs: number | null): JobTerms {
  const cancel = new AbortController();
  const passOn = (): void => {
    if (readEndOfCall(signal) !== 'disconnected') cancel.abort(signal.reason);
  };
  if (signal.aborted) passOn();
  else signal.addEventListener('abort', passOn, { once: true });
  let lines = 0;
  return {
    cancel: cancel.signal,
    patienceMs: canWait ? null : detachMs,
    progress: (line) => progress(++lines, null, line),
  };
}

const isRunning = (outcome: PackageChange | RunningJob): outcome is RunningJob => 'since' in outcome;

function answerChange(outcome: PackageChange | RunningJob, verb: 'installed' | 'removed', began: number) {
  if (!isRunning(outcome)) return { text: describeChange(outcome, verb), structured: showChange(outcome) };
  const tookMs = Math.round(performance.now() - began);
  return { text: describeRunningInstall(outcome, tookMs), structured: showRunningInstall(outcome, tookMs) };
}

const installTool = declareTool({
  name: 'install_packages',
  group: 'code',
  title: 'Install packages',
  description:
    'Installs Python or Node packages for your runs and sessions, in place of pip or npm in code. They stay. If it fails, nothing is changed.',
  searchHint: 'pip install, npm install, library, dependency, ModuleNotFoundError',
  input: installInput,
  output: changeShape,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  auditFields: { subject: ['names'] },
  async handle({ packages, detachMs }: PackagesRoom, asked, context) {
    const began = performance.now();
    const outcome = await packages.install(context.caller, asked, toJobTerms(context, detachMs));
    return answerChange(outcome, 'installed', began);
  },
});

const listTool = declareTool({
  name: 'list_packages',
  group: 'packages',
  title: 'List installed packages',
  description: 'Lists the packages that you have installed, and where they come from.',
  input: z.strictObject({}),
  output: packageListShape,
  annotations: { readOnlyHint: true, openWorldHint: false },
  auditFields: { subject: [] },
  async handle({ packages }: PackagesRoom, _input, { caller }) {
    const { languages, jobs } = await packages.list(caller);
    const { allowed } = packages;
    return {
      text: describePackageList(languages, jobs, allowed),
      structured: showList(languages, jobs, allowed),
    };
  },
});

const removeTool = declareTool({
  name: 'remove_packages',
  group: 'packages',
  title: 'Remove packages',
  description: 'Removes packages that you have installed, with what only they needed.',
  searchHint: 'uninstall',
  input: removeInput,
  output: changeShape,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  auditFields: { subject: ['names'] },
  async handle({ packages, detachMs }: PackagesRoom, asked, context) {
    const began = performance.now();
    const outcome = await packages.remove(context.caller, asked, toJobTerms(context, detachMs));
    return answerChange(outcome, 'removed', began);
  },
});

export const packageTools: readonly DeclaredTool<PackagesRoom>[] = [installTool, listTool, removeTool];
