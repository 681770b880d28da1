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
    description: 'A group, or a server: `name` or `owner~name`. null in responses: it is gone, or no longer usable',
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
  kind: z.enum(['group', 'server']).meta({ description: 'What `group` names' }),
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
