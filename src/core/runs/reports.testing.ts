import type { Report } from '../../ports/sandbox/sandbox.ts';

export const png = Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1');

type ReportedPart = readonly [mime: string, bytes: string | Uint8Array];

/** A report as honest code makes it, but for what is given. */
export function reportResult(given: Record<string, unknown>, ...parts: ReportedPart[]): Report {
  const bytes = parts.map(([, part]) => Buffer.from(part as Uint8Array));
  const listed = parts.map(([mime], index) => ({ mime, size: bytes[index]!.length, name: 'result' }));
  const header = { type: 'result', cell: 0, kind: 'value', text: '', cut: false, parts: listed, ...given };
  return { header, payload: Buffer.concat(bytes) };
}

export const reportFigure = (bytes: Uint8Array = png): Report =>
  reportResult({ kind: 'figure', text: '<Figure size 640x480 with 1 Axes>' }, ['image/png', bytes]);

export const giveReports = (...reports: Report[]) =>
  async function* (): AsyncGenerator<Report> {
    yield* reports;
  };
