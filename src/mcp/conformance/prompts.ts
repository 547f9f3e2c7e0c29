import {
  completable,
  inputRequired,
  inputResponse,
  type ContentBlock,
  type GetPromptResult,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { inWords } from './asking.ts';
import { askContext } from './questions.ts';
import { image, resourceBlock, textBlock } from './samples.ts';

const completed = completable(z.string(), (begun) =>
  ['paris', 'park', 'party', 'test'].filter((word) => word.startsWith(begun)),
);

/** Prompts of each kind; one completes its argument, one asks the client first. */
export function addPrompts(server: McpServer): void {
  server.server.registerCapabilities({ prompts: { listChanged: false } });
  server.registerPrompt('test_simple_prompt', { description: 'Plain text' }, () =>
    prompt(textBlock('This is a simple prompt for testing.')),
  );
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'Text with two arguments', argsSchema: z.object({ arg1: completed, arg2: z.string() }) },
    ({ arg1, arg2 }) => prompt(textBlock(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) =>
      prompt(
        resourceBlock(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        textBlock('Please process the embedded resource above.'),
      ),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'An image' }, () =>
    prompt(image, textBlock('Please analyze the image above.')),
  );
  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks the user first' }, asking);
}

function asking({ mcpReq }: ServerContext): GetPromptResult | InputRequiredResult {
  const answer = inputResponse(mcpReq.inputResponses, 'user_context');
  if (answer.kind === 'missing') return inputRequired({ inputRequests: { user_context: askContext } });
  return prompt(textBlock(inWords(answer)));
}

function prompt(...blocks: ContentBlock[]): GetPromptResult {
  return { messages: blocks.map((content) => ({ role: 'user', content })) };
}
