/** All features, in the order in which they are opened. A feature that is listed here needs to be named nowhere else. */
import { prompts } from '../prompts/feature.ts';
import { skills } from '../skills/feature.ts';
import { toolSearch } from '../tool-search/feature.ts';

export const features = [prompts, skills, toolSearch] as const;
