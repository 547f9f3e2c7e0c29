import { answerCalls, isAfterFailure, outerData, outerLog } from '../../threads/inside.ts';
import { createIndexing } from './indexing.ts';
import type { IndexingSettings } from './settings.ts';

const settings = (await outerData()) as IndexingSettings;
answerCalls(createIndexing(settings, outerLog(), { isAfterFailure: isAfterFailure() }));
