import { inputRequired, type InputRequest } from '@modelcontextprotocol/server';
import { z } from 'zod';

export const askName = (message: string): InputRequest =>
  inputRequired.elicit({ message, requestedSchema: z.object({ name: z.string() }) });

export const askColour = inputRequired.elicit({
  message: 'What is your favorite color?',
  requestedSchema: z.object({ color: z.string() }),
});

export const askConfirmation = inputRequired.elicit({
  message: 'Please confirm',
  requestedSchema: z.object({ ok: z.boolean() }),
});

export const askContext = inputRequired.elicit({
  message: 'What context should the prompt use?',
  requestedSchema: z.object({ context: z.string() }),
});

export const askUser = (message: string): InputRequest =>
  inputRequired.elicit({
    message,
    requestedSchema: z.object({
      username: z.string().describe("User's response"),
      email: z.string().describe("User's email address"),
    }),
  });

export const askSampling = (prompt: string): InputRequest =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
    maxTokens: 100,
  });

export const askDefaults = inputRequired.elicit({
  message: 'Please review the values',
  requestedSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    },
  },
});

const titled = (noun: string) => [
  { const: 'value1', title: `First ${noun}` },
  { const: 'value2', title: `Second ${noun}` },
  { const: 'value3', title: `Third ${noun}` },
];

const untitled = ['option1', 'option2', 'option3'];

/** Each of the five ways in which a choice can be written. */
export const askEnums = inputRequired.elicit({
  message: 'Please choose',
  requestedSchema: {
    type: 'object',
    properties: {
      untitledSingle: { type: 'string', enum: untitled },
      titledSingle: { type: 'string', oneOf: titled('Option') },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: untitled } },
      titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
    },
  },
});
