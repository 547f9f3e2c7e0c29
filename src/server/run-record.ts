/** The record of runs, with what features add to it: this is the order of their fields, and of what they say of a run. */
import type { Feature } from '../core/feature.ts';
import type { RunRecordPart } from '../core/runs/extension.ts';
import { createRunRecord } from '../core/runs/record.ts';
import { callRecord } from '../features/code-mode/runs.ts';
import { networkRecord } from '../features/network/runs.ts';
import { provenanceRecord } from '../features/provenance/record.ts';
import { scriptRecord } from '../features/scripts/record.ts';
import { features } from './features.ts';

const ofFeatures: RunRecordPart[] = [];
for (const { record } of features as readonly Feature[]) {
  const part = await record?.();
  if (part !== undefined) ofFeatures.push(part);
}

export const runRecord = createRunRecord([
  provenanceRecord,
  networkRecord,
  callRecord,
  scriptRecord,
  ...ofFeatures,
]);
