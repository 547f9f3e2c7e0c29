import type { Config } from '../config.ts';
import { openDocuments } from '../documenting.ts';
import { isWorkcrateError } from '../errors.ts';
import { localCaller } from '../identity.ts';
import { createLog } from '../log.ts';
import type { Finding } from './doctor.ts';

const tried = { layout: {}, bibliography: null, style: { name: null, content: null }, cites: false };

/** Whether documents can be built here: by building one. */
export async function documentFindings(config: Config): Promise<Finding[]> {
  const { documents } = openDocuments({ config, clock: Date.now, log: createLog('off') });
  await using _ = documents;
  try {
    const { built, failures } = await documents.build(
      localCaller,
      { ...tried, text: 'Does *this* work?', formats: ['docx', 'pdf'], referenceDoc: null },
      {
        signal: AbortSignal.timeout(60_000),
        pictures: { artifact: async () => null, file: async () => null },
        progress: () => {},
      },
    );
    const names = built.map(({ format }) => format).join(' and ');
    return [
      ...(names === '' ? [] : [{ state: 'ok' as const, what: `documents can be built: ${names}` }]),
      ...failures.map(({ format, message }) => ({
        state: 'note' as const,
        what: `${format} cannot be built`,
        remedy: message,
      })),
    ];
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
    return [{ state: 'note', what: 'documents cannot be built', remedy: error.message }];
  }
}
