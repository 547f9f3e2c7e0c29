import { z } from 'zod';
import {
  executionFields,
  listedFields,
  type Execution,
  type ListedExecution,
  type ShownShape,
} from './fields.ts';
import type { FoundPage } from './search.ts';

type Fields = typeof executionFields;

/** What all fields have in common, where they are gone through. */
interface Shown {
  readonly json: string;
  readonly schema: z.ZodType;
  readonly show: (execution: Execution) => unknown;
}

const toShown = (name: keyof Fields): Shown[] => {
  const field = executionFields[name];
  if (field.json === null) return [];
  const { json, schema } = field;
  if (field.column === null) return [{ json, schema, show: field.derive }];
  const toJson = field.toJson as (value: unknown) => unknown;
  return [{ json, schema, show: (execution) => toJson(execution[name as keyof Execution]) }];
};

const allShown = (Object.keys(executionFields) as (keyof Fields)[]).flatMap(toShown);
const listShown = listedFields.flatMap(toShown);

const toShape = (fields: readonly Shown[]) =>
  Object.fromEntries(fields.map(({ json, schema }) => [json, schema]));

function show(fields: readonly Shown[], execution: Execution): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const { json, show } of fields) shown[json] = show(execution);
  return shown;
}

// In the schema, `inputs` has always been before `artifacts`.
const { artifacts, limits, ...others } = toShape(allShown) as ShownShape<keyof Fields>;

/** An execution as tools and routes show it. */
export const executionShape = z.object({ ...others, artifacts, limits });

export const shownExecution = (execution: Execution): z.input<typeof executionShape> =>
  show(allShown, execution) as z.input<typeof executionShape>;

/** Executions in a list, with the start of their code. */
export const pageShape = z.object({
  executions: z.array(
    z.object({
      ...(toShape(listShown) as ShownShape<keyof ListedExecution>),
      code: z.string().describe('Its first 200 characters; get_execution has all'),
    }),
  ),
  next: z.string().nullable(),
});

export function shownPage({ executions, next }: FoundPage): z.input<typeof pageShape> {
  return {
    executions: executions.map((found) => show(listShown, found as Execution)) as z.input<
      typeof pageShape
    >['executions'],
    next,
  };
}
