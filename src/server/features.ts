/** All features, in the order in which they are opened. A feature that is listed here needs to be named nowhere else. */
import { guard } from '../features/guard/feature.ts';
import { prompts } from '../features/prompts/feature.ts';
import { skills } from '../features/skills/feature.ts';
import { toolSearch } from '../features/tool-search/feature.ts';

export const features = [prompts, skills, toolSearch, guard] as const;
