/** Requests whose answers may be long, derived from the descriptions of the hub and the protocol. */
import { join } from 'node:path'
import { ClientRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Client, Hub } from './hub.ts'
import { HEADERS, RawClient } from './raw-mcp.ts'
import type { Asked } from './unread-answers.ts'

const FIXTURES = join(import.meta.dir, '../load/fixtures')
const MODERN = '2026-07-28'
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'unread', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
/** Requests of a client that change the session in which they are sent. */
const OF_SESSION = new Set(['initialize', 'logging/setLevel'])

/** Plugins with routes that answer much: one in the hub's main thread, one in a thread of its own. */
export const HEAVY_PLUGINS = [
  { use: join(FIXTURES, 'heavy-inside.ts'), isolate: false },
  { use: join(FIXTURES, 'heavy-apart.ts') },
]

/** Requests to every route of the API document that reads, with what there is in the place of its parameters. */
export async function readingRequests(user: Client, size: number): Promise<readonly Asked[]> {
  const { paths } = await user.ok('GET', '/api/openapi.json')
  const asked: Asked[] = []
  for (const [path, item] of Object.entries(paths)) {
    // biome-ignore lint/suspicious/noExplicitAny: the document as it is
    for (const [name, operation] of Object.entries(item as Record<string, any>)) {
      const method = name.toUpperCase()
      const body = operation.requestBody?.content['application/json']?.example
      if (method !== 'GET' && !READING_POST.test(`${method} ${path}`)) continue
      for (const filled of filledPaths(path)) {
        const own = path.endsWith('/call') ? { arguments: { size } } : { size }
        const isCall = method === 'POST' && /\/tools\/\{tool\}(?:\/call)?$/.test(path)
        const result: Record<string, string> = isCall ? { accept: 'application/vnd.patchbay.result+json' } : {}
        if (method === 'GET') asked.push({ method, path: filled })
        else asked.push({ method, path: filled, body: isCall ? own : (body ?? {}), headers: result })
      }
    }
  }
  return asked
}

/** POST routes that change nothing. */
const READING_POST = /^POST \/api(?:\/.*)?\/(?:call|tools\/\{tool\}|search|query|preview|export)$/

function filledPaths(path: string): readonly string[] {
  const refs = path.startsWith('/api/servers/') ? ['heavy', 'pets', 'admin~lists'] : ['g']
  if (!path.includes('{ref}')) return [path.replace(/\{\w+\}/g, 'thing')]
  return refs.map(ref =>
    path
      .replace('{ref}', ref)
      .replace('{tool}', 'bytes')
      .replace(/\{\w+\}/g, 'thing'),
  )
}

/** Requests to every route that a plugin offers. */
export async function pluginRequests(admin: Client, size: number): Promise<readonly Asked[]> {
  const { items } = await admin.ok('GET', '/api/admin/plugins?limit=100')
  const paths = items.flatMap(({ name, contributions }: { name: string; contributions: readonly string[] }) =>
    contributions
      .filter(id => id.startsWith('routes/'))
      .map(id => `/api/plugins/${name}/${id.slice('routes/'.length)}`),
  )
  return paths.map((path: string) => ({ method: 'GET', path: `${path}?size=${size}` }))
}

/**
 * Every request of the protocol at the paths of a server and of a group: of a client of 2026-07-28, and in a session, where an
 * answer is JSON or, after a message that came before it, an event stream.
 */
export async function mcpRequests(hub: Pick<Hub, 'url'>, user: Client, size: number): Promise<readonly Asked[]> {
  const key = await user.mcpKey()
  const methods = ClientRequestSchema.options.map(({ shape }) => shape.method.value as string)
  const asked: Asked[] = []
  for (const path of ['/mcp/heavy', '/mcp/g']) {
    const session = (await new RawClient(hub, path, key).open()).headers
    for (const method of methods) {
      if (OF_SESSION.has(method)) continue
      for (const [name, args] of method === 'tools/call' ? CALLS(size) : [[undefined, undefined] as const]) {
        const params = name === undefined ? {} : { name, arguments: args }
        const own = { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...(name ? { 'mcp-name': name } : {}) }
        const modern = { ...HEADERS, authorization: `Bearer ${key}`, ...own }
        const message = { jsonrpc: '2.0', id: 1, method }
        asked.push({
          method: 'POST',
          path,
          headers: modern,
          body: { ...message, params: { ...params, _meta: ENVELOPE } },
        })
        asked.push({ method: 'POST', path, headers: session, body: { ...message, params } })
      }
    }
  }
  return asked
}

/** The tools that answer much: at once, and after a log message. */
const CALLS = (size: number) =>
  [
    ['bytes', { size }],
    ['notes', { size: 100, count: 1, answer: size }],
  ] as const
