/** Reads everything that a user may read, by a list derived from the API document. */
import { METRIC_NAMES } from '../../core/domain/alerts/metrics.ts'
import { SOURCE_NAMES, sourceOf } from '../../core/domain/dashboards/sources.ts'
import type { Client } from './hub.ts'

/** Values at their places: `GET /api/servers?scope=all#/items/0/name`. */
export type Facts = ReadonlyMap<string, unknown>

/** Values of path parameters, by the path before them; `thing` elsewhere. */
export type Names = Readonly<Record<string, string>>

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly 'x-access'?: string
}

/** Streams, and routes whose answers are not JSON or the same for all users. */
const APART = /^\/api\/(?:stream|assistant\/ws|openapi\.json|docs|admin\/backup)$|^\/plugins\//
/** Requests with a body that any user may send. */
const ASKED: readonly (readonly [path: string, body: object])[] = [
  ['/api/logs/search', { limit: 1_000 }],
  ...SOURCE_NAMES.map(name => {
    const type = sourceOf(name)?.from === 'table' ? 'table' : 'metric'
    return ['/api/monitoring/query', { type, query: name }] as const
  }),
  ...METRIC_NAMES.map(
    name => ['/api/monitoring/rule-preview', { name: 'p', severity: 'warning', condition: `${name} > 0` }] as const,
  ),
  ['/api/monitoring/rule-preview', { name: 'p', severity: 'warning', condition: 'custom.orders > 0' }],
  ['/api/monitoring/query', { type: 'metric', query: 'custom.orders' }],
]

/** The paths of all GET routes, filled in, and again with every `scope`. */
async function readingPaths(client: Client, names: Names): Promise<readonly string[]> {
  const { paths } = (await client.request('GET', '/api/openapi.json')).json
  return Object.entries(paths as Record<string, { get?: Operation }>).flatMap(([path, { get }]) => {
    if (!get || APART.test(path)) return []
    const filled = path.replace(/^(.*?)\{\w+\}/, (whole, before: string) => {
      const name = names[before]
      return name === undefined ? whole.replace(/\{\w+\}/, 'thing') : `${before}${name}`
    })
    const url = filled.replace(/\{\w+\}/g, 'thing')
    const scoped = get.parameters?.some(({ name }) => name === 'scope') ? [`${url}?scope=all`] : []
    return [url, ...scoped]
  })
}

/** Reads all answers that this client can get now. */
export async function readEverything(client: Client, names: Names): Promise<Facts> {
  const facts = new Map<string, unknown>()
  for (const path of await readingPaths(client, names)) {
    const { status, text } = await client.request('GET', path)
    put(facts, `GET ${path}`, { status, body: parsed(text) })
  }
  if (client.token === '') return facts
  for (const [path, body] of ASKED) {
    const { status, text } = await client.request('POST', path, body)
    put(facts, `POST ${path} ${JSON.stringify(body)}`, { status, body: parsed(text) })
  }
  return facts
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function put(facts: Map<string, unknown>, place: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) {
    facts.set(place, value)
    return
  }
  if (Array.isArray(value)) facts.set(`${place}/length`, value.length)
  for (const [key, item] of Object.entries(value)) put(facts, `${place}/${key}${kindOf(item)}`, item)
}

/** Name of a list item's kind. */
function kindOf(item: unknown): string {
  const { kind, query } = (item ?? {}) as { readonly kind?: unknown; readonly query?: unknown }
  return [kind, query].flatMap(name => (typeof name === 'string' ? [`:${name}`] : [])).join('')
}

/** Differences between two readings, with both values. */
export function differences(
  before: Facts,
  after: Facts,
): readonly { readonly place: string; readonly values: readonly [unknown, unknown] }[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter(place => before.get(place) !== after.get(place))
    .map(place => ({ place, values: [before.get(place), after.get(place)] }))
}
