import type { BuildRequest, BuildResult, Building, Documents } from '../documents/documents.ts';
import { asWorkcrateError, isOurFault } from '../errors.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';

type Counted = Pick<Metrics, 'documentBuilt' | 'documentsTook' | 'watchDocuments'>;

/** The same room, which counts what is built and logs it. Neither says what stands in a document. */
export function seenDocuments(documents: Documents, metrics: Counted, log: Log): Documents {
  metrics.watchDocuments(documents.occupancy);

  async function build(caller: Caller, request: BuildRequest, building: Building): Promise<BuildResult> {
    const began = performance.now();
    const asked = { user: caller.user, formats: request.formats };
    try {
      const result = await documents.build(caller, request, building);
      for (const { format } of result.built) metrics.documentBuilt(format, 'ok');
      for (const { format, code } of result.failures) metrics.documentBuilt(format, code);
      log.info('document.built', { ...asked, ...outcomeOf(result), ms: since(began) });
      return result;
    } catch (cause) {
      const error = asWorkcrateError(cause);
      for (const format of request.formats) metrics.documentBuilt(format, error.code);
      log[isOurFault(error) ? 'error' : 'info']('document.failed', { ...asked, ms: since(began), error });
      throw cause;
    } finally {
      metrics.documentsTook(performance.now() - began);
    }
  }

  return { ...documents, build };
}

const since = (began: number): number => Math.round(performance.now() - began);

const outcomeOf = ({ built, failures, warnings }: BuildResult) => ({
  bytes: built.reduce((sum, { written }) => sum + written.bytes.length, 0),
  failed: failures.map(({ format, code }) => `${format}: ${code}`),
  warnings: warnings.length,
});
