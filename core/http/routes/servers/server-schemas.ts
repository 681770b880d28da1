import { z } from 'zod'
import { LIMITS } from '../../../config/limits.ts'
import type { JsonLimits } from '../../../domain/json/json-guard.ts'
import { SERVER_JSON } from '../../../domain/server/body.ts'
import { SERVER_SCHEMAS } from '../../../domain/server/server-table.ts'
import { SERVER_WARNINGS } from '../../../domain/server/status.ts'
import { TRANSPORT_FIELDS } from '../../document/transport-fields.ts'
import {
  anyObject,
  connectionState,
  ownRole,
  shownFields,
  suggestion,
  timestamp,
  validatedByRegistry,
} from '../schemas.ts'

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
const reason = z.object({
  code: z.string(),
  message: z.string(),
  data: z.object({ connectUrl: z.string() }).optional().meta({ description: 'The page at which a person ends it' }),
  ofOwner: z
    .literal(true)
    .optional()
    .meta({ description: 'Its owner alone has no credential: callers with one of their own can use the server' }),
})
const counts = z.object({ tools: z.number().int(), prompts: z.number().int(), resources: z.number().int() })

const stdioExample = { name: 'time', command: 'uvx', args: ['mcp-server-time'] }

/** For creating and replacing; the nested `{name, config}` of existing clients is accepted as well. */
export const serverBody = validatedByRegistry(
  { type: 'object', properties: SERVER_SCHEMAS, required: ['name'], [TRANSPORT_FIELDS]: true },
  stdioExample,
)
/** For PATCH: every field is optional; absent ones stay unchanged. */
export const serverPatch = validatedByRegistry(
  { type: 'object', properties: SERVER_SCHEMAS, [TRANSPORT_FIELDS]: true },
  { description: 'Tells the time', timeout: 30_000 },
)

/** The live state of a server in a response. */
export const serverStatus = z.object({
  state: connectionState,
  since: timestamp,
  reason: reason.optional(),
  attempts: z.number().int(),
  nextAttemptAt: timestamp.optional(),
  starting: z
    .object({
      forMs: z.int().meta({ description: 'How long this attempt has lasted' }),
      line: z.string().optional().meta({ description: 'The last line that the program wrote to stderr in this time' }),
    })
    .optional()
    .meta({ description: 'While an attempt to start it lasts' }),
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
      missingPaths: z
        .array(z.string())
        .optional()
        .meta({ description: 'Of `healthCheck.endpoints`: what the server does not have (404, 405, 501)' }),
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
      serverRequests: z.array(z.enum(['sampling', 'elicitation', 'roots'])).optional(),
      probing: z.literal(true).optional(),
    })
    .optional()
    .meta({ description: 'Who shares a connection to the server, and why' }),
  warnings: z
    .array(
      z.object({
        code: z.enum(SERVER_WARNINGS),
        message: z.string(),
        tools: z.array(z.string()).optional(),
        suggestion: suggestion.optional(),
      }),
    )
    .optional(),
  pid: z.number().int().optional(),
  latencyMs: z
    .object({ p50: z.number(), p95: z.number() })
    .optional()
    .meta({ description: 'Response times of the last 128 requests that the server answered, of any method' }),
})

const mine = z
  .object({
    state: z.enum(['active', 'sign_in_needed', 'refused']),
    reason: reason.optional(),
    connectUrl: z.string().optional().meta({ description: 'The page at which this user signs in, or signs in again' }),
    connection: z.string().optional().meta({ description: 'The id in `/api/connections`' }),
  })
  .optional()
  .meta({
    description: 'What this user holds for a server with `credentials: caller`; `status` is of its address, for all',
  })

const fullServer = z
  .looseObject({
    ...shownFields(SERVER_SCHEMAS, []),
    id: z.string(),
    ref: z.string().meta({ description: '`owner~name`' }),
    name: z.string(),
    owner: z.string(),
    role: ownRole,
    origin: z.enum(['file', 'store']),
    revision: z.number().int(),
    createdAt: timestamp,
    updatedAt: timestamp,
    review: z
      .object({ required: z.boolean(), network: z.enum(['none', 'proxy']), hash: z.string() })
      .optional()
      .meta({
        description:
          'The server has only the rights of an ordinary user with this network grant, since such an account configured it, or an administrator outside ADMIN_ADDRESSES. ' +
          '`required`: it stays switched off until `reviewed` repeats the hash',
      }),
    template: z
      .object({
        id: z.string().meta({ description: '`source:name`' }),
        source: z.string(),
        version: z.string(),
        variant: z.string(),
        installedAt: timestamp,
        hash: z.string().meta({ description: 'SHA-256 of what the template ran and asked for then' }),
        previous: z.string().optional().meta({ description: 'The version that a downgrade goes back to' }),
      })
      .optional()
      .meta({ description: 'The template that it was installed from, while a plugin installs templates' }),
    problem: z.object({ code: z.string(), message: z.string(), pointer: z.string().optional() }).optional(),
    status: serverStatus,
    mine,
  })
  .meta({ [TRANSPORT_FIELDS]: true })

/** A public server as other users see it: without its configuration. */
export const viewedServer = z.strictObject({
  name: z.string(),
  owner: z.string(),
  role: ownRole,
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  transport,
  passthroughHeaders: z.array(z.string()).optional().meta({
    description: 'Headers of callers that it asks for; each caller decides by its own settings',
  }),
  tools: z.array(z.object({ name: z.string(), description: z.string().optional() })),
  status: z.strictObject({ state: connectionState, since: timestamp, counts }),
  mine,
})

/** A server in a response. */
export const server = z
  .union([viewedServer, fullServer])
  .meta({ description: 'The whole record with the role `see` and above; the short form with `use`' })

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

/** The example in the API document: for a user who has not signed in at the server of another. */
export const exampleSignInServer = {
  name: 'notes',
  owner: 'ada',
  transport: 'streamable-http',
  tools: [{ name: 'whoami' }],
  status: {
    state: 'online',
    since: '2026-11-21T09:30:00.000Z',
    counts: { tools: 1, prompts: 0, resources: 0 },
  },
  mine: {
    state: 'sign_in_needed',
    reason: {
      code: 'sign_in_needed',
      message: '"notes" wants you to sign in: open https://hub.example.org/connect/01JD7C2M8L',
    },
    connectUrl: 'https://hub.example.org/connect/01JD7C2M8L',
  },
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
