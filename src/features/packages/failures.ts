/**
 * Why an install failed, in words that say what to do, and the code of that. It reads what pip and npm say, which may
 * quote what a package or a registry has written: only short, quoted pieces of it are passed on.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import type { PackageLanguage } from '../../ports/sandbox/environments.ts';
import type { RunEnd } from '../../ports/sandbox/sandbox.ts';
import { formatBytes, formatDuration, quoteShort } from '../../platform/text/text.ts';

/** What the program inside says at its end. */
const reportSchema = z.object({
  done: z.boolean().optional(),
  problem: z.string().max(100).optional(),
  sourceOnly: z.array(z.string().max(200)).max(20).optional(),
  unreached: z.string().max(1000).nullable().optional(),
  /** Of npm. */
  code: z.string().max(100).optional(),
  summary: z.string().max(5000).optional(),
});
export type InstallReport = z.infer<typeof reportSchema>;

const reportMark = 'workcrate: ';

/** The last line of ours, and what was printed after the one before it. The report is null where it came to no end. */
export function parseReport(output: string): { report: InstallReport | null; said: string } {
  const lines = output.split('\n');
  const last = lines.findLastIndex((line) => line.startsWith(reportMark));
  const before = lines.slice(0, Math.max(0, last)).findLastIndex((line) => line.startsWith(reportMark));
  return { report: parseReportLine(lines[last]), said: lines.slice(before + 1).join('\n') };
}

function parseReportLine(line: string | undefined): InstallReport | null {
  try {
    return reportSchema.safeParse(JSON.parse(line?.slice(reportMark.length) ?? 'null')).data ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

export interface FailedInstall {
  readonly language: PackageLanguage;
  readonly end: RunEnd;
  readonly report: InstallReport | null;
  /** The end of what pip or npm printed. */
  readonly output: string;
  /** The host of the registry. */
  readonly registry: string;
  readonly timeoutMs: number;
  readonly diskBytes: number;
  readonly fileBytes: number;
}

const unchanged = 'What was installed before is as it was.';

export function toInstallError(failed: FailedInstall): WorkcrateError {
  const { end } = failed;
  switch (end.reason) {
    case 'cancelled':
      return new WorkcrateError('cancelled', `The install was cancelled. ${unchanged}`);
    case 'timeout':
      return installFailed(
        `It took longer than ${formatDuration(failed.timeoutMs)}. ${unchanged} Ask for fewer packages or exact versions, or try again: what was downloaded is kept.`,
      );
    case 'disk':
      return doNotFitError(`your files and packages may take ${formatBytes(failed.diskBytes)}`);
    case 'oom':
    case 'pids':
      return installFailed(
        `It needed more ${end.reason === 'oom' ? 'memory' : 'processes'} than a run may have. ${unchanged} Ask for fewer packages at once.`,
      );
    default:
      return toReportedError(failed);
  }
}

const doNotFitError = (limit: string): WorkcrateError =>
  new WorkcrateError(
    'quota_exceeded',
    `The packages do not fit: ${limit}. ${unchanged} Delete what you do not need, or remove other packages (remove_packages).`,
  );

const installFailed = (message: string): WorkcrateError => new WorkcrateError('install_failed', message);

function toReportedError(failed: FailedInstall): WorkcrateError {
  const { language, report } = failed;
  if (report?.problem === 'no-pip') return missingToolError('pip', 'python3-pip');
  if (report?.problem === 'no-venv') return missingToolError('the module venv', 'python3-venv');
  if (isInstallTooLarge(failed)) return doNotFitError(`a file may have ${formatBytes(failed.fileBytes)}`);
  return (language === 'python' ? toPipError(failed) : toNpmError(failed)) ?? toOtherError(failed);
}

/** Whether the kernel refused to let a file grow: that may come before the disk is seen to be full. */
const isInstallTooLarge = ({ language, report, output }: FailedInstall): boolean =>
  language === 'python' ? /\[Errno 27\]/.test(output) : report?.code === 'EFBIG';

export const missingToolError = (what: string, debian: string): WorkcrateError =>
  new WorkcrateError(
    'sandbox_unavailable',
    `The Python that runs use has no ${what}, so nothing can be installed for it. The operator can add it: on Debian apt-get install ${debian}, else with the means of that Python or in the image.`,
  );

const unreachableError = (registry: string, why: string): WorkcrateError =>
  new WorkcrateError(
    'registry_unreachable',
    `The registry ${registry} could not be asked: ${quoteShort(why, 300)}. ${unchanged} Try again later. If it sends its files from another host, the operator can allow that one (--packages-hosts).`,
  );

const hashError = (registry: string): WorkcrateError =>
  installFailed(
    `The registry ${registry} sent a file that is not the one it announced: the hashes differ. ${unchanged} Try again later, or ask for another version.`,
  );

const notFoundError = (what: string, registry: string): WorkcrateError =>
  new WorkcrateError(
    'package_not_found',
    `The registry ${registry} has nothing for ${quoteShort(what, 200)} that can be used here. ${unchanged} Check the name and the version.`,
  );

function toPipError({ report, output, registry }: FailedInstall): WorkcrateError | null {
  if (/DO NOT MATCH THE HASHES/.test(output)) return hashError(registry);
  const broken = /(Max retries exceeded[^\n]{0,300}|Tunnel connection failed[^\n]{0,100})/.exec(output)?.[1];
  const unreached = report?.unreached ?? broken;
  if (unreached) return unreachableError(registry, unreached);
  const [, missing] = /No matching distribution found for ([^\n]{1,200})/.exec(output) ?? [];
  const sources = report?.sourceOnly ?? [];
  if (missing !== undefined && sources.length > 0)
    return new WorkcrateError(
      'package_not_found',
      `Of ${sources.join(', ')} the registry ${registry} has only the source, and no wheel for this Python; code of packages is not built here. ${unchanged} Ask for another version or package; the operator can allow it (--packages-source).`,
    );
  if (missing !== undefined) return notFoundError(missing, registry);
  if (/ResolutionImpossible|conflicting dependencies/.test(output))
    return installFailed(
      `These versions do not go together: ${quoteShort(findConflict(output), 500)}. ${unchanged} Ask for other versions, or remove a package first (remove_packages).`,
    );
  return null;
}

/** pip lists who needs what. */
const findConflict = (output: string): string =>
  /The conflict is caused by:\n([\s\S]{1,600}?)\n\n/.exec(output)?.[1] ??
  /Cannot install ([^\n]{1,400})/.exec(output)?.[1] ??
  'pip says no more';

function toNpmError({ report, registry }: FailedInstall): WorkcrateError | null {
  const { code = '', summary = '' } = report ?? {};
  if (code === 'E404' || code === 'ETARGET') return notFoundError(summary, registry);
  if (code === 'EINTEGRITY') return hashError(registry);
  if (code === 'ERESOLVE' || code === 'EOVERRIDE')
    return installFailed(
      `These versions do not go together: ${quoteShort(summary, 500)}. ${unchanged} Ask for other versions, or remove a package first (remove_packages).`,
    );
  if (
    /^(?:E[45]\d\d|ECONN|ETIMEDOUT|ENOTFOUND|EAI_|ERR_SOCKET|ERR_PROXY|EPROTO|CERT_|UNABLE_|SELF_SIGNED|EIDLE)/.test(
      code,
    )
  )
    return unreachableError(registry, `${code} ${summary}`);
  return null;
}

const outputCharacters = 1000;

function toOtherError({ language, end, report, output }: FailedInstall): WorkcrateError {
  const program = language === 'python' ? 'pip' : 'npm';
  const how = end.exitCode === null ? (end.signal ?? end.reason) : `exit code ${end.exitCode}`;
  const said = report?.summary ?? output.trim().slice(-outputCharacters);
  const words = said === '' ? 'and said nothing' : `and said: ${quoteShort(said, outputCharacters)}`;
  return installFailed(`${program} failed (${how}) ${words}. ${unchanged}`);
}
