import { answerCalls, getParentData } from '../../platform/workers/inside.ts';
import type { ValidationSettings } from './crate-validation.ts';
import { createValidatingWorker } from './validating.ts';

answerCalls(createValidatingWorker((await getParentData()) as ValidationSettings));
