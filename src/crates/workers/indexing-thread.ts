import { answerCalls, isAfterFailure, outerData, outerLog } from '../../workers/inside.ts';
import { createIndexing, type IndexingSettings } from './workers.ts';

const settings = (await outerData()) as IndexingSettings;
answerCalls(createIndexing(settings, outerLog(), { isAfterFailure: isAfterFailure() }));
