import { z } from 'zod'
import { GROUP_SCHEMAS, MEMBER_TABLE } from '../../../domain/group-fields.ts'
import { schemasOf } from '../../../domain/json/field-table.ts'
import { exampleList, listOf, ownRole, shownFields, timestamp, validatedByRegistry } from '../schemas.ts'

const example = { name: 'daily', members: ['time', { server: 'notes', tools: ['search'] }] }

/** For creating and replacing a group. */
export const groupBody = validatedByRegistry({ type: 'object', properties: GROUP_SCHEMAS, required: ['name'] }, example)
/** For PATCH: every field is optional; absent ones stay unchanged. */
export const groupPatch = validatedByRegistry(
  { type: 'object', properties: GROUP_SCHEMAS },
  { description: 'For every day' },
)
/** Selection that a member makes among the items of its server. */
export const memberBody = validatedByRegistry(
  { type: 'object', properties: schemasOf(MEMBER_TABLE) },
  { tools: ['search'] },
)

const groupWarning = z
  .object({
    code: z.enum([
      'server_deleted',
      'server_unseen',
      'server_lists',
      'tool_missing',
      'tools_need_asking',
      'one_connection_only',
      'names_collide',
      'approval_waits',
      'items_left_out',
      'tools_costly',
      'tool_costly',
      'others_get_less',
      'selector_differs',
      'selector_partial',
      'selector_argument_taken',
    ]),
    message: z.string(),
    server: z.string().optional(),
    tools: z.array(z.string()).optional().meta({ description: 'Original names, at most 50' }),
    params: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .optional()
      .meta({ description: 'What the message names besides, for translations by the code' }),
  })
  .meta({ description: 'What clients of the group may miss' })

/** A group in a response; members that the caller may not use are left out, except for those who may edit it. */
export const group = z.looseObject({
  ...shownFields(GROUP_SCHEMAS, ['name']),
  members: z.array(z.unknown()),
  id: z.string(),
  ref: z.string().meta({ description: '`owner~name`' }),
  owner: z.string(),
  role: ownRole,
  origin: z.enum(['file', 'store']),
  revision: z.number().int(),
  createdAt: timestamp,
  updatedAt: timestamp,
  endpoint: z.string().meta({ description: 'The URL for MCP clients' }),
  status: z.object({
    total: z.number().int(),
    online: z.number().int(),
    connecting: z.number().int(),
    offline: z.number().int(),
  }),
  tools: z.number().int(),
  tokens: z.number().int().meta({
    description:
      'About what a model pays to read the tools: name, description and inputSchema of each, a token for four characters, or for one of Chinese, Japanese and Korean',
  }),
  warnings: z.array(groupWarning),
})

/** The example in the API document. */
export const exampleGroup = {
  id: '01JD7C9Q3F',
  ref: 'ada~daily',
  name: 'daily',
  owner: 'ada',
  visibility: 'private',
  naming: 'auto',
  members: [{ server: 'ada~time', tools: 'all', prompts: 'all', resources: 'all' }],
  origin: 'store',
  revision: 3,
  createdAt: '2026-11-21T09:29:58.000Z',
  updatedAt: '2026-11-21T09:41:07.000Z',
  endpoint: 'http://127.0.0.1:3000/mcp/daily',
  status: { total: 1, online: 1, connecting: 0, offline: 0 },
  tools: 2,
  tokens: 214,
  warnings: [],
}

const groupTool = z.looseObject({
  name: z.string(),
  server: z.string(),
  original: z.string(),
  selector: z
    .object({ argument: z.string(), servers: z.record(z.string(), z.string()) })
    .optional()
    .meta({
      description: 'The argument that chooses the server, and the server of each value; `server` is one of them',
    }),
  appOnly: z.boolean().optional().meta({ description: 'It is for the views of MCP Apps: models do not get it' }),
})

/** A page of the tools that a group offers, with counts, estimated tokens and warnings. */
export const groupTools = listOf(groupTool).extend({
  counts: z.object({ tools: z.number().int(), prompts: z.number().int(), resources: z.number().int() }),
  tokens: z.number().int(),
  warnings: z.array(groupWarning),
})

/** The example in the API document. */
export const exampleGroupTools = {
  ...exampleList({ name: 'get_current_time', server: 'ada~time', original: 'get_current_time' }),
  counts: { tools: 1, prompts: 0, resources: 0 },
  tokens: 51,
  warnings: [],
}

/** Configuration that a user adds to a client to connect it to a group. */
export const groupClientConfig = z.object({
  client: z.string(),
  endpoint: z.string(),
  format: z.enum(['json', 'toml', 'yaml', 'shell']),
  path: z.string().optional(),
  places: z.array(z.object({ path: z.string(), os: z.enum(['mac', 'windows', 'linux']).optional() })),
  text: z.string().meta({ description: 'Put an access key in place of `<ACCESS_KEY>`' }),
  command: z.string().optional(),
  link: z.string().optional().meta({ description: 'Opens the client, which adds the group; holds no key' }),
  note: z.string().optional(),
  clients: z
    .array(z.object({ id: z.string(), label: z.string() }))
    .meta({ description: 'All clients whose configuration can be asked for' }),
})

/** The example in the API document. */
export const exampleClientConfig = {
  client: 'cursor',
  endpoint: 'http://127.0.0.1:3000/mcp/daily',
  format: 'json',
  path: '~/.cursor/mcp.json',
  places: [{ path: '~/.cursor/mcp.json' }, { path: '.cursor/mcp.json' }],
  text: '{"mcpServers":{"daily":{"url":"http://127.0.0.1:3000/mcp/daily","headers":{"Authorization":"Bearer <ACCESS_KEY>"}}}}\n',
  clients: [{ id: 'cursor', label: 'Cursor' }],
}
