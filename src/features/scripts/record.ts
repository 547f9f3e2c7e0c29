/** Which saved script a run is of, in the record of the run. */
import { z } from 'zod';
import type { RunRecordPart } from '../../core/runs/extension.ts';
import { makePlainField } from '../../core/runs/fields.ts';

const scriptFields = {
  /** As `name@version`. */
  script: {
    after: 'cancelledBy',
    initial: null,
    ...makePlainField('script', 'start', z.string().nullable().describe('The saved script that it ran')),
  },
} satisfies RunRecordPart['fields'];

declare module '../../core/runs/fields.ts' {
  interface FieldTables {
    readonly scripts: typeof scriptFields;
  }
}

export const scriptRecord: RunRecordPart = {
  fields: scriptFields,
  answer: {
    script: {
      schema: z.string().describe('The saved script that it ran, with its version'),
      show: ({ script }) => script,
    },
  },
  describe: ({ script }, section) =>
    script !== null && ['answer', 'record', 'running'].includes(section) ? [`Script ${script}.`] : [],
};
