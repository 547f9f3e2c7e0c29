/** All features, in the order in which they are opened. A feature that is listed here needs to be named nowhere else. */
import type { Feature } from '../core/feature.ts';
import { gateway } from '../features/gateway/feature.ts';
import { guard } from '../features/guard/feature.ts';
import { prompts } from '../features/prompts/feature.ts';
import { skills } from '../features/skills/feature.ts';
import { toolSearch } from '../features/tool-search/feature.ts';
import { loadPackages } from './feature-packages.ts';

const own = [prompts, skills, toolSearch, guard, gateway] as const;

export type OwnFeatures = typeof own;

export const features: readonly Feature[] = [...own, ...(await loadPackages())];
