import { z } from 'zod';
import { errorStatus } from './error-status.ts';

/** Codes that routes answer without an error of that name behind it. */
const otherCodes = ['issuer_unavailable'];

/** What every error is, but those of artifacts, whose shape the specification gives. */
const error = z
  .looseObject({
    error: z.string().describe('What went wrong and what to do, for people'),
    code: z.enum([...Object.keys(errorStatus), ...otherCodes]).describe('The same, for programs'),
  })
  .describe('Some errors have further fields, such as the offset that the server holds');

const artifactError = z.looseObject({ error: z.string() });

const receipt = z.object({
  file_id: z.string(),
  filename: z.string(),
  size: z.number().int(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const uploadStanding = z.object({
  state: z.enum(['open', 'complete']),
  offset: z.number().int().describe('How many bytes the server holds'),
  size: z.number().int().nullable().describe('How many there will be, where that was announced'),
  expiresAt: z.iso.datetime(),
  file: receipt.optional(),
});

const artifactList = z.object({ artifacts: z.array(z.string()), count: z.number().int() });

const artifact = z.object({
  artifact_id: z.string(),
  data: z.base64(),
  encoding: z.literal('base64'),
});

const resource = z.looseObject({
  resource: z.string(),
  authorization_servers: z.array(z.string()),
  scopes_supported: z.array(z.string()),
  bearer_methods_supported: z.array(z.string()),
});

/** Answers whose shape no room has as a schema. A test holds real ones against them. */
export const ownShapes = {
  Error: error,
  ArtifactError: artifactError,
  UploadReceipt: receipt,
  UploadStanding: uploadStanding,
  ArtifactList: artifactList,
  Artifact: artifact,
  ProtectedResource: resource,
};
