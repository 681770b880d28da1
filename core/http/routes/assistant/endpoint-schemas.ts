import { z } from 'zod'
import { timestamp, validatedByRegistry } from '../schemas.ts'

const at = '2026-11-24T09:30:00.000Z'

const endpointFields = z.object({
  name: z.string().meta({ description: '1 to 64 characters' }),
  direction: z
    .enum(['outbound', 'inbound'])
    .meta({ description: '`outbound`: the hub dials the platform; `inbound`: the assistant dials the hub. It stays' }),
  url: z.string().optional().meta({
    description: 'Outbound: `ws` or `wss`, as the platform gives it; comes back with its token masked',
  }),
  group: z.string().nullable().meta({
    description:
      'A group, or a server: `name` or `owner~name`; `$smart/` before it, or `$smart` alone for all. null in responses: it is gone, or no longer usable',
  }),
  enabled: z.boolean().optional(),
  limits: z
    .object({
      tools: z.number().int().optional().meta({ description: '1 to 64, default 64' }),
      resultCharacters: z.number().int().optional().meta({ description: '100 to 2,000, default 2,000' }),
    })
    .optional(),
})

const exampleEndpoint = {
  ...{
    name: 'kitchen',
    direction: 'outbound',
    url: 'wss://assistant.example.com/mcp/?token=eyJhbGciOi',
    group: 'home',
  },
}

/** Body of an endpoint; the assistant's part of the hub validates it. */
export const endpointBody = validatedByRegistry(endpointFields, exampleEndpoint)
/** Some of its fields. */
export const endpointPatch = validatedByRegistry(endpointFields.partial(), { enabled: false })

const status = z
  .looseObject({
    state: z.enum(['off', 'waiting', 'dialling', 'connected', 'backing_off', 'refused', 'replaced']),
    since: timestamp.optional(),
    code: z.string().optional().meta({ description: 'Why it is not connected' }),
    message: z.string().optional(),
    nextTryAt: timestamp.optional(),
    closeCode: z.number().int().optional().meta({ description: 'Of the last close frame of the other side' }),
    connects: z.number().int().optional().meta({ description: 'Connections since the hub serves it' }),
    callsInFlight: z.number().int().optional(),
    tools: z.array(z.string()).optional().meta({ description: 'As the assistant sees them' }),
    leftOut: z.array(z.string()).optional().meta({ description: 'Tools beyond the limits, which are not offered' }),
    lastMessageAt: timestamp.optional(),
    latencyMs: z.number().optional(),
  })
  .meta({ description: 'What it does now' })

/** An endpoint in responses. */
export const endpoint = endpointFields.extend({
  id: z.string(),
  ref: z.string(),
  owner: z.string(),
  origin: z.enum(['api', 'file']),
  revision: z.number().int(),
  createdAt: timestamp,
  updatedAt: timestamp,
  limited: z
    .literal(true)
    .optional()
    .meta({ description: 'It has the rights of an ordinary user, until an administrator PUTs the whole of it' }),
  kind: z.enum(['group', 'server', 'all']).meta({ description: 'What `group` names' }),
  view: z.string().optional().meta({ description: 'The view in which it is seen, such as `smart`' }),
  last4: z.string().optional().meta({ description: 'Of the token of an inbound endpoint' }),
  token: z.string().optional().meta({ description: 'Inbound: only in the response that made it' }),
  status,
})

/** An example of {@link endpoint}. */
export const endpointExample = {
  ...{ id: '5c1f', ref: 'ann~kitchen', owner: 'ann', origin: 'api', revision: 1, createdAt: at, updatedAt: at },
  ...{ name: 'kitchen', direction: 'outbound', url: 'wss://assistant.example.com/mcp/?token=••••', group: 'ann~home' },
  ...{ kind: 'group', enabled: true, limits: { tools: 64, resultCharacters: 2_000 } },
  status: { state: 'connected', since: at, connects: 1, callsInFlight: 0, tools: ['lights_on'], leftOut: [] },
}

/** One frame. */
export const message = z.looseObject({
  at: timestamp,
  direction: z.enum(['in', 'out']),
  method: z.string().optional(),
  tool: z.string().optional(),
  bytes: z.number().int(),
  durationMs: z.number().optional(),
  outcome: z.string().optional(),
})

/** An example of {@link message}. */
export const messageExample = { at, direction: 'in', method: 'tools/call', tool: 'lights_on', bytes: 112 }

/** The bridge as a whole. */
export const bridge = z.object({
  enabled: z.boolean().meta({ description: 'Whether endpoints are served' }),
  source: z.enum(['default', 'file', 'store', 'env']).meta({ description: 'Where that is set' }),
  variable: z.string(),
  hasBridge: z.boolean().meta({ description: 'Whether a plugin that serves them runs' }),
  apiKey: z.object({
    set: z.boolean().meta({ description: 'Whether one key opens all inbound endpoints' }),
    source: z.enum(['default', 'file', 'store', 'env']),
    variable: z.string(),
  }),
  socket: z.string().meta({ description: 'Where devices dial in' }),
  fileProblems: z
    .array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() }))
    .optional()
    .meta({ description: 'What of the settings file’s endpoints cannot be used; for administrators' }),
})

/** An example of {@link bridge}. */
export const bridgeExample = {
  ...{ enabled: true, source: 'env', variable: 'ASSISTANT_ENABLED', hasBridge: true },
  apiKey: { set: true, source: 'env', variable: 'ASSISTANT_API_KEY' },
  ...{ socket: 'wss://hub.example.com/api/assistant/ws', fileProblems: [] },
}

/** The tools of an endpoint. */
export const tools = z.object({
  items: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string().optional(),
      inputSchema: z.looseObject({}),
      tokens: z.number().int().meta({ description: 'About what a model pays to read it' }),
    }),
  ),
  total: z.number().int(),
  leftOut: z.array(z.string()).meta({ description: 'Names of those beyond the limits' }),
  tokens: z.number().int(),
})

/** An example of {@link tools}. */
export const toolsExample = {
  items: [{ name: 'lights_on', description: 'Switches the lights on', inputSchema: { type: 'object' }, tokens: 20 }],
  ...{ total: 1, leftOut: [], tokens: 20 },
}

/** Result of testing an endpoint. */
export const test = z.object({
  ok: z.boolean().meta({ description: 'No step failed' }),
  steps: z.array(
    z.object({
      name: z.string().meta({
        description:
          '`target`, `tools`; outbound `address`, `dial`, `handshake` (the platform’s `initialize`), `list`; inbound `connection`',
      }),
      outcome: z.enum(['ok', 'failed', 'skipped']),
      durationMs: z.number(),
      code: z.string().optional().meta({ description: 'Of the failure, or of what `detail` says' }),
      params: z
        .record(z.string(), z.union([z.string(), z.number()]))
        .optional()
        .meta({ description: 'What `detail` names' }),
      detail: z.string().optional(),
    }),
  ),
})

/** An example of {@link test}. */
export const testExample = {
  ok: false,
  steps: [
    { name: 'target', outcome: 'ok', durationMs: 1.2 },
    {
      name: 'tools',
      outcome: 'ok',
      durationMs: 3.4,
      code: 'tools_read',
      params: { tools: 12, leftOut: 0 },
      detail: '12 tools',
    },
    { name: 'address', outcome: 'ok', durationMs: 8 },
    { name: 'dial', outcome: 'failed', durationMs: 41, code: 'token_refused', detail: 'The platform answered 401' },
    {
      name: 'handshake',
      outcome: 'skipped',
      durationMs: 0,
      code: 'earlier_step_failed',
      detail: 'A step before it failed',
    },
    { name: 'list', outcome: 'skipped', durationMs: 0, code: 'earlier_step_failed', detail: 'A step before it failed' },
  ],
}
