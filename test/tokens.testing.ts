import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base';

/** What a text costs a model, counted as the o200k encoding does. Other encodings differ by some percent. */
export const countTokens = (text: string): number => countO200k(text);
