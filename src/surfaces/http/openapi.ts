/**
 * The OpenAPI document of every route, and `GET /openapi.json`. It describes and never validates: the routes do. Schemas
 * that no room has are in `openapi-schemas.ts`.
 */
import { Hono } from 'hono';
import type { z } from 'zod';
import { programName } from '../../platform/program.ts';
import { packageVersion } from '../../platform/version.ts';
import { jsonResponse } from '../../platform/http/answer.ts';
import {
  bodilessAnswer,
  failureAnswers,
  filePaths,
  jsonAnswer,
  jsonSchema,
  openSecurity,
  ownShapes,
  parameter,
  signedInSecurity,
  signInFailures,
  textAnswer,
  uploadPaths,
  type Json,
} from './openapi-schemas.ts';

/** Schemas that the rooms' routes answer by, and take. */
export interface RoomShapes {
  readonly execution: z.ZodType;
  readonly executionPage: z.ZodType;
  readonly executionSearch: z.ZodObject;
  readonly executionId: z.ZodType;
  readonly skillList: z.ZodType;
  readonly skill: z.ZodType;
  readonly status: z.ZodType;
}

/** Every route as an OpenAPI 3.1 document, made from the schemas of the rooms and the table of errors. */
export function openApiDocument(rooms: RoomShapes, baseUrl: () => string): () => Json {
  const shapes = {
    ...ownShapes,
    Execution: rooms.execution,
    ExecutionPage: rooms.executionPage,
    SkillList: rooms.skillList,
    Skill: rooms.skill,
    Status: rooms.status,
  };
  const schemas = Object.entries(shapes).map(([name, shape]) => [name, jsonSchema(shape)]);
  const document = {
    openapi: '3.1.1',
    info: {
      title: 'Workcrate',
      version: packageVersion,
      description: 'Files by link, and what runs left. The tools are at /mcp, and tell of themselves there.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths: {
      ...filePaths,
      ...uploadPaths,
      ...executionPaths(rooms),
      ...skillPaths,
      ...artifactPaths,
      ...mcpPaths,
      ...healthPaths,
    },
    components: {
      schemas: Object.fromEntries(schemas) as Json,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: `A key of ${programName} user add, or an OAuth token`,
        },
      },
    },
  };
  return () => ({ ...document, servers: [{ url: baseUrl() }] });
}

/** `GET /openapi.json`. */
export function openApiRoute(document: () => Json): Hono {
  return new Hono().get('/openapi.json', () => jsonResponse(document()));
}

function executionPaths({ executionSearch, executionId }: RoomShapes): Json {
  const { properties = {} } = jsonSchema(executionSearch, 'input') as { properties?: Record<string, Json> };
  const query = Object.entries(properties).map(([name, { description = name, ...schema }]) =>
    parameter('query', name, { description, schema }),
  );
  const refusals = ['invalid_input', ...signInFailures] as const;
  return {
    '/executions': {
      get: {
        ...signedInSecurity,
        operationId: 'searchExecutions',
        summary: 'Runs of the caller, newest first',
        parameters: query,
        responses: { 200: jsonAnswer('ExecutionPage', 'A page of them'), ...failureAnswers(refusals) },
      },
    },
    '/executions/{id}': {
      parameters: [parameter('path', 'id', { schema: jsonSchema(executionId) })],
      get: {
        ...signedInSecurity,
        operationId: 'getExecution',
        summary: 'One run: code, output, what it changed',
        responses: { 200: jsonAnswer('Execution', 'The run'), ...failureAnswers([...refusals, 'not_found']) },
      },
    },
  };
}

const skillFile = parameter('query', 'file', { description: 'Another file of the skill than SKILL.md' });

const skillPaths: Json = {
  '/skills': {
    get: {
      ...signedInSecurity,
      operationId: 'listSkills',
      summary: 'Skills, and what is wrong with others; tools for code',
      responses: { 200: jsonAnswer('SkillList', 'What there is'), ...failureAnswers([...signInFailures]) },
    },
  },
  '/skills/{name}': {
    parameters: [parameter('path', 'name', { description: 'The name of the skill' })],
    get: {
      ...signedInSecurity,
      operationId: 'readSkill',
      summary: 'What a skill says',
      parameters: [skillFile],
      responses: {
        200: jsonAnswer('Skill', 'The file'),
        ...failureAnswers([...signInFailures, 'not_found']),
      },
    },
  },
};

const user = parameter('path', 'user_id', { description: 'Whose artifacts; with auth on, the caller' });
const artifactName = parameter('path', 'artifact_id', { description: 'The name of a file in /artifacts' });
const artifactFailures = {
  ...failureAnswers(['invalid_input', 'artifact_failed'], 'ArtifactError'),
  ...failureAnswers([...signInFailures]),
};

const artifactPaths: Json = {
  '/{user_id}/artifacts': {
    parameters: [user],
    get: {
      ...signedInSecurity,
      operationId: 'listArtifacts',
      summary: 'Names of the artifacts of a user',
      responses: { 200: jsonAnswer('ArtifactList', 'The names'), ...artifactFailures },
    },
  },
  '/{user_id}/artifacts/{artifact_id}': {
    parameters: [user, artifactName],
    get: {
      ...signedInSecurity,
      operationId: 'getArtifact',
      summary: 'An artifact as base64',
      responses: {
        200: jsonAnswer('Artifact', 'The artifact'),
        ...failureAnswers(['not_found', 'invalid_input', 'artifact_too_large'], 'ArtifactError'),
        ...artifactFailures,
      },
    },
  },
};

const mcpRequest = {
  required: true,
  content: { 'application/json': { schema: { type: 'object', description: 'A JSON-RPC message' } } },
};

const mcpAnswers = {
  200: {
    ...bodilessAnswer('A JSON-RPC message, or events that hold them'),
    content: {
      'application/json': { schema: { type: 'object' } },
      'text/event-stream': { schema: { type: 'string' } },
    },
  },
  202: bodilessAnswer('Taken'),
  '4XX': { ...bodilessAnswer('Refused'), content: { 'application/json': { schema: { type: 'object' } } } },
};

const describeMcpOperation = (operationId: string, summary: string, more: Json = {}): Json => ({
  ...signedInSecurity,
  operationId,
  summary,
  ...more,
  responses: mcpAnswers,
});

const mcpPaths: Json = {
  '/mcp': {
    post: describeMcpOperation('sendMcp', 'MCP over Streamable HTTP: see modelcontextprotocol.io', {
      requestBody: mcpRequest,
    }),
    get: describeMcpOperation('listenMcp', 'Events of a session of older versions'),
    delete: describeMcpOperation('endMcp', 'End such a session'),
  },
};

const describeGet = (
  operationId: string,
  summary: string,
  responses: Json,
  more: Json = openSecurity,
): Json => ({
  get: { ...more, operationId, summary, responses },
});

const healthPaths: Json = {
  '/livez': describeGet('live', 'Whether the process answers', { 200: textAnswer('ok') }),
  '/readyz': describeGet('ready', 'Whether it can do its work', {
    200: textAnswer('ok'),
    503: jsonAnswer('Error', 'Why not'),
  }),
  '/metrics': describeGet(
    'metrics',
    'Figures for Prometheus; needs the scope metrics or operator',
    { 200: textAnswer('Prometheus text'), ...failureAnswers([...signInFailures]) },
    signedInSecurity,
  ),
  '/status': describeGet(
    'status',
    'How the server is; needs the scope metrics or operator',
    { 200: jsonAnswer('Status', 'How it is'), ...failureAnswers([...signInFailures]) },
    signedInSecurity,
  ),
  '/openapi.json': describeGet('openApi', 'This document', {
    200: {
      ...bodilessAnswer('OpenAPI 3.1'),
      content: { 'application/json': { schema: { type: 'object' } } },
    },
  }),
  '/.well-known/oauth-protected-resource': describeGet(
    'protectedResource',
    'Who gives out tokens (RFC 9728)',
    {
      200: jsonAnswer('ProtectedResource', 'With --auth oauth'),
      ...failureAnswers(['not_found']),
    },
  ),
};
