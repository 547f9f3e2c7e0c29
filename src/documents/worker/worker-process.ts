import { answerCalls, outerData, outerLog } from '../../workers/inside.ts';
import { createComposing, type ComposingSettings } from './worker.ts';

answerCalls(createComposing((await outerData()) as ComposingSettings, outerLog()));
