import { z } from 'zod'
import { RESULT_BYTES } from './result-bytes.ts'

/**
 * The bodies of servers and groups for the API document. Requests are judged by `parseServerBody` and `parseGroupBody`,
 * which know rules that a schema cannot say; a test holds the two together on examples.
 */

const name = z
  .string()
  .min(1)
  .max(64)
  .describe('Letters, digits, spaces, "_", "-" and "."; unique per owner, letter case ignored.')
const visibility = z
  .enum(['private', 'public'])
  .default('private')
  .describe('Public: others see and use it, never change it, never see its configuration.')
const milliseconds = (max: number) => z.int().min(1).max(max)
const stringMap = z.record(z.string(), z.string())

const argumentRules = z
  .record(
    z.string(),
    z.strictObject({
      pin: z.unknown().optional(),
      default: z.unknown().optional(),
      hidden: z.boolean().optional(),
      description: z.string().optional(),
    }),
  )
  .describe('By name: pinned to a value, given a default, hidden, described anew.')
const toolOverride = z.strictObject({
  enabled: z.boolean().optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  arguments: argumentRules.optional(),
})
const names = z.union([z.literal('all'), z.array(z.string())]).default('all')

const serverFields = {
  transport: z
    .enum(['stdio', 'sse', 'streamable-http', 'openapi'])
    .optional()
    .describe('Inferred when absent: "openapi", else "url" (streamable HTTP, falling back to SSE), else "command".'),
  type: z.string().optional().describe('The same as "transport".'),
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  env: stringMap.optional(),
  cwd: z.string().optional(),
  sandbox: z.enum(['full', 'off']).optional(),
  network: z.enum(['none', 'proxy', 'host']).optional(),
  url: z.string().optional(),
  headers: stringMap.optional(),
  openapi: z
    .strictObject({
      url: z.string().optional(),
      schema: z.union([z.record(z.string(), z.unknown()), z.string()]).optional(),
      version: z.string().optional(),
      operations: z
        .strictObject({ include: z.array(z.string()).optional(), exclude: z.array(z.string()).optional() })
        .optional(),
      auth: z.record(z.string(), z.unknown()).optional(),
      baseUrl: z.string().optional(),
    })
    .optional(),
  description: z.string().optional(),
  owner: z.string().optional().describe('Administrators only; the default is the caller.'),
  reviewed: z.string().optional().describe('The review.hash of a server that waits for a review.'),
  enabled: z.boolean().default(true),
  disabled: z.boolean().optional().describe('The opposite of "enabled", as other programs write it.'),
  visibility,
  variables: stringMap
    .optional()
    .describe('Filled in where a string of the configuration names one; never the hub’s own environment.'),
  timeout: milliseconds(3_600_000).default(60_000).describe('Longest wait for one reply, in milliseconds.'),
  maxTimeout: milliseconds(86_400_000).optional().describe('Longest wait with progress, in milliseconds.'),
  maxResultBytes: z
    .int()
    .min(RESULT_BYTES.least)
    .max(RESULT_BYTES.most)
    .default(RESULT_BYTES.usual)
    .describe('Longest message of the server, and so result of a call, in bytes.'),
  session: z.enum(['auto', 'shared', 'per-session', 'per-user']).optional(),
  era: z
    .enum(['auto', 'legacy', 'modern'])
    .default('auto')
    .describe('Which versions of MCP the server is spoken to in; auto: those of each caller, where it speaks them.'),
  start: z.enum(['eager', 'lazy']).default('eager'),
  idleTimeout: milliseconds(2 ** 31 - 1).optional(),
  isolate: z.boolean().default(false),
  healthCheck: z
    .strictObject({
      enabled: z.boolean().default(true),
      interval: z
        .int()
        .min(100)
        .max(2 ** 31 - 1)
        .default(30_000)
        .describe('Milliseconds of silence before a check; with endpoints, between two checks.'),
      timeout: milliseconds(3_600_000).default(5_000).describe('Longest wait for an answer, in milliseconds.'),
      retries: z.int().min(0).max(100).default(2).describe('Failed checks in a row that count as a loss.'),
      endpoints: z
        .strictObject({ ping: z.string().max(2_048).optional(), tools: z.string().max(2_048).optional() })
        .optional()
        .describe('Paths on the server’s own address that must answer a GET with 2xx.'),
    })
    .optional(),
  passthroughHeaders: z.array(z.string()).optional(),
  tools: z.record(z.string(), toolOverride).optional(),
  definitionPolicy: z
    .enum(['report', 'pin'])
    .default('report')
    .describe('A tool whose definition changed is reported, or blocked until it is approved.'),
  prompts: names,
  resources: names,
  secrets: z
    .array(z.string())
    .optional()
    .describe('JSON Pointers of values that are kept sealed, such as /env/API_KEY; found by name when absent.'),
}

export const serverBodySchema = z
  .strictObject({
    name,
    ...serverFields,
    config: z
      .strictObject({ name: name.optional(), ...serverFields })
      .optional()
      .describe('The other fields may stand in here instead.'),
  })
  .meta({ id: 'ServerBody' })

const memberParts = {
  alias: name.optional(),
  tools: z
    .union([
      z.literal('all'),
      z.array(
        z.union([
          z.string(),
          z.strictObject({
            name: z.string(),
            as: z.string().optional(),
            description: z.string().optional(),
            arguments: argumentRules.optional(),
          }),
        ]),
      ),
    ])
    .default('all'),
  prompts: names,
  resources: names,
}

export const groupBodySchema = z
  .strictObject({
    name,
    description: z.string().optional(),
    owner: z.string().optional().describe('Administrators only; the default is the caller.'),
    visibility,
    naming: z.enum(['auto', 'prefixed']).default('auto'),
    members: z
      .array(z.union([z.string(), z.strictObject({ server: z.string(), ...memberParts })]))
      .max(500)
      .default([]),
    resultLimit: z.int().min(1).optional().describe('Bytes.'),
  })
  .meta({ id: 'GroupBody' })
