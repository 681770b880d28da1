import { z } from 'zod'
import { LIMITS } from '../../../config/limits.ts'
import type { JsonLimits } from '../../../domain/json/json-guard.ts'
import { SERVER_JSON } from '../../../domain/server/body.ts'
import { TRANSPORT_FIELDS } from '../../document/transport-fields.ts'
import { anyJson, anyObject, connectionState, timestamp, validatedByRegistry, visibility } from '../schemas.ts'

const milliseconds = (description: string) =>
  z
    .number()
    .int()
    .meta({ description: `Milliseconds. ${description}` })

/** Limits of bodies that may have an inline OpenAPI document. */
export const largeBody: { readonly bodyLimit: number; readonly json: JsonLimits } = {
  bodyLimit: LIMITS.serverBodyBytes,
  json: SERVER_JSON,
}

/** The name of a transport. */
export const transport = z
  .string()
  .max(64)
  .meta({ description: 'A transport whose plugin runs: the schemas `Transport.…` of this document have their fields' })
const reason = z.object({ code: z.string(), message: z.string() })
const counts = z.object({ tools: z.number().int(), prompts: z.number().int(), resources: z.number().int() })

const argumentRule = z.object({
  pin: anyJson.optional().meta({ description: 'Always sent, whatever the caller says; not in the schema' }),
  default: anyJson.optional().meta({ description: 'Sent where the caller leaves the argument out' }),
  hidden: z.boolean().optional().meta({ description: 'Not in the schema, and not the caller’s to set' }),
  description: z.string().optional(),
})
/** What the hub does with the arguments of a tool. */
export const argumentRules = z.record(z.string(), argumentRule).meta({ description: 'By the argument’s name' })

const toolOverride = z.object({
  enabled: z.boolean().optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  arguments: argumentRules.optional(),
})
const names = z.union([z.literal('all'), z.array(z.string())])

const commonFields = z.object({
  name: z.string().meta({ description: '1 to 64 characters; no `/ ~ :` or controls' }),
  description: z.string().optional(),
  transport: transport.optional().meta({ description: 'Inferred when absent; `type` is accepted for it' }),
  timeout: milliseconds('Per request; 1 to 3,600,000, default 60,000').optional(),
  maxTimeout: milliseconds(
    'Progress extends a request up to this; default the larger of timeout and 600,000',
  ).optional(),
  maxResultBytes: z
    .int()
    .optional()
    .meta({ description: 'Longest message of the server; 1,048,576 to 67,108,864 bytes, default 10,485,760' }),
  visibility: visibility.optional(),
  variables: z.record(z.string(), z.string()).optional(),
  owner: z.string().optional().meta({ description: 'Administrators only; default is the caller' }),
  reviewed: z.string().optional().meta({
    description: 'The `review.hash` that was read: the server gets the rights of its owner by it',
  }),
  enabled: z.boolean().optional().meta({ description: 'Default true' }),
  disabled: z
    .boolean()
    .optional()
    .meta({ description: 'The opposite of `enabled`, as other clients’ settings have it' }),
  session: z.enum(['auto', 'shared', 'per-session', 'per-user']).optional(),
  era: z
    .enum(['auto', 'legacy', 'modern'])
    .optional()
    .meta({ description: '`legacy`: up to 2025-11-25; `modern`: 2026-07-28; default `auto`, that of each caller' }),
  start: z.enum(['eager', 'lazy']).optional(),
  idleTimeout: milliseconds('Default 300,000 for lazy, none for eager').optional(),
  isolate: z.boolean().optional(),
  healthCheck: z
    .object({
      enabled: z.boolean().optional(),
      interval: milliseconds('100 to 2,147,483,647, default 30,000').optional(),
      timeout: milliseconds('1 to 3,600,000, default 5,000').optional(),
      retries: z.int().optional().meta({ description: 'Failures in a row that count as a loss; 0 to 100, default 2' }),
      endpoints: z.object({ ping: z.string().optional(), tools: z.string().optional() }).optional(),
    })
    .optional(),
  passthroughHeaders: z.array(z.string()).optional(),
  tools: z.record(z.string(), toolOverride).optional().meta({ description: 'By the tool’s original name' }),
  definitionPolicy: z
    .enum(['report', 'pin'])
    .optional()
    .meta({ description: '`pin`: a tool whose definition changed is blocked until it is approved' }),
  prompts: names.optional().meta({ description: 'The names that are offered' }),
  resources: names.optional().meta({ description: 'The URIs and templates that are offered' }),
  secrets: z.array(z.string()).optional().meta({ description: 'JSON Pointers such as `/env/API_KEY`' }),
})

const serverFields = commonFields.meta({ [TRANSPORT_FIELDS]: true })

const stdioExample = { name: 'time', command: 'uvx', args: ['mcp-server-time'] }

/** For creating and replacing; the nested `{name, config}` of existing clients is accepted as well. */
export const serverBody = validatedByRegistry(serverFields, stdioExample)
/** For PATCH: every field is optional; absent ones stay unchanged. */
export const serverPatch = validatedByRegistry(commonFields.partial().meta({ [TRANSPORT_FIELDS]: true }), {
  description: 'Tells the time',
  timeout: 30_000,
})

/** The live state of a server in a response. */
export const serverStatus = z.object({
  state: connectionState,
  since: timestamp,
  reason: reason.optional(),
  attempts: z.number().int(),
  nextAttemptAt: timestamp.optional(),
  transport: transport
    .optional()
    .meta({ description: 'In effect; with only a URL configured, what the server speaks' }),
  era: z.enum(['legacy', 'modern']).optional(),
  eras: z
    .array(z.enum(['legacy', 'modern']))
    .optional()
    .meta({ description: 'All that it was found to speak; the older one is looked for when an older client comes' }),
  protocolVersion: z.string().optional(),
  serverInfo: anyObject.optional(),
  capabilities: anyObject.optional(),
  counts,
  health: z
    .object({
      state: z.enum(['off', 'unknown', 'healthy', 'failing']),
      misses: z.int().optional().meta({ description: 'Failed checks in a row' }),
      lastCheck: z
        .object({ at: timestamp, ok: z.boolean(), durationMs: z.number(), error: reason.optional() })
        .optional(),
    })
    .optional()
    .meta({ description: 'What the regular checks of `healthCheck` say' }),
  connections: z
    .object({ shared: z.int(), session: z.int(), lease: z.int(), user: z.int() })
    .optional()
    .meta({ description: 'Open now: shared by all, of single client sessions, of modern clients’ leases, of users' }),
  session: z
    .object({
      mode: z.enum(['auto', 'shared', 'per-session', 'per-user']),
      kind: z.enum(['shared', 'per-session', 'per-user']),
      why: z.string(),
      asks: z.array(z.enum(['sampling', 'elicitation', 'roots'])).optional(),
      probing: z.literal(true).optional(),
    })
    .optional()
    .meta({ description: 'Who shares a connection to the server, and why' }),
  warnings: z
    .array(
      z.object({
        code: z.enum(['tools_need_asking', 'own_connection_refused']),
        message: z.string(),
        tools: z.array(z.string()).optional(),
      }),
    )
    .optional(),
  pid: z.number().int().optional(),
  latencyMs: z.object({ p50: z.number(), p95: z.number() }).optional(),
})

const fullServer = z
  .looseObject({
    ...commonFields.partial().shape,
    id: z.string(),
    ref: z.string().meta({ description: '`owner~name`' }),
    name: z.string(),
    owner: z.string(),
    origin: z.enum(['file', 'store']),
    revision: z.number().int(),
    createdAt: timestamp,
    updatedAt: timestamp,
    review: z
      .object({ required: z.boolean(), network: z.enum(['none', 'proxy']), hash: z.string() })
      .optional()
      .meta({
        description:
          'The server has only the rights of an ordinary user with this network grant, since such an account configured it. ' +
          '`required`: it stays switched off until `reviewed` repeats the hash',
      }),
    problem: z.object({ code: z.string(), message: z.string(), pointer: z.string().optional() }).optional(),
    confined: z
      .literal(true)
      .optional()
      .meta({ description: 'It runs with the rights of an ordinary user: configured from outside ADMIN_ADDRESSES' }),
    status: serverStatus,
  })
  .meta({ [TRANSPORT_FIELDS]: true })

/** A public server for users who do not own it: without its configuration. */
export const viewedServer = z.strictObject({
  name: z.string(),
  owner: z.string(),
  description: z.string().optional(),
  transport,
  passthroughHeaders: z.array(z.string()).optional().meta({
    description: 'Headers of callers that it asks for; each caller decides by its own settings',
  }),
  tools: z.array(z.object({ name: z.string(), description: z.string().optional() })),
  status: z.strictObject({ state: connectionState, since: timestamp, counts }),
})

/** A server in a response. */
export const server = z
  .union([viewedServer, fullServer])
  .meta({ description: 'The whole record for its owner and administrators; the short form for who only sees it' })

/** The example in the API document. */
export const exampleStatus = {
  state: 'online',
  since: '2026-11-21T09:30:00.000Z',
  attempts: 0,
  transport: 'stdio',
  era: 'legacy',
  protocolVersion: '2025-11-25',
  counts: { tools: 2, prompts: 0, resources: 0 },
}

/** The example in the API document: for the owner. */
export const exampleServer = {
  ...stdioExample,
  id: '01JD7C2M8K',
  ref: 'ada~time',
  owner: 'ada',
  transport: 'stdio',
  visibility: 'private',
  enabled: true,
  timeout: 60_000,
  origin: 'store',
  revision: 1,
  createdAt: '2026-11-21T09:29:58.000Z',
  updatedAt: '2026-11-21T09:29:58.000Z',
  status: exampleStatus,
}

/** The example in the API document: for other users. */
export const exampleViewedServer = {
  name: 'time',
  owner: 'ada',
  description: 'Tells the time',
  transport: 'stdio',
  tools: [{ name: 'get_current_time', description: 'The current time in a time zone' }],
  status: {
    state: 'online',
    since: '2026-11-21T09:30:00.000Z',
    counts: { tools: 1, prompts: 0, resources: 0 },
  },
}
