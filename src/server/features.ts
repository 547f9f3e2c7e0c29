/** All features, in the order in which they are opened. A feature that is listed here needs to be named nowhere else. */
import type { Feature } from '../core/feature.ts';
import { apps } from '../features/apps/feature.ts';
import { clientFiles } from '../features/client-files/feature.ts';
import { crateValidation } from '../features/crate-validation/feature.ts';
import { crates } from '../features/crates/feature.ts';
import { documents } from '../features/documents/feature.ts';
import { packing } from '../features/packing/feature.ts';
import { gateway } from '../features/gateway/feature.ts';
import { guard } from '../features/guard/feature.ts';
import { prompts } from '../features/prompts/feature.ts';
import { skills } from '../features/skills/feature.ts';
import { toolSearch } from '../features/tool-search/feature.ts';
import { loadPackages } from './feature-packages.ts';

const own = [
  crates,
  packing,
  crateValidation,
  documents,
  clientFiles,
  prompts,
  skills,
  toolSearch,
  apps,
  guard,
  gateway,
] as const;

export type OwnFeatures = typeof own;

export const features: readonly Feature[] = [...own, ...(await loadPackages())];
