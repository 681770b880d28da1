/**
 * Bundled plugins that the hubs of a run are without, by `PATCHBAY_PLUGINS_OFF=market,bundles`, and the documented answers of
 * such a hub where the routes of these plugins would be. Default none.
 */
import type { Answer } from './client.ts'

/** Plugins that each hub switches off after its set-up. */
export const PLUGINS_OFF: readonly string[] = (process.env.PATCHBAY_PLUGINS_OFF ?? '')
  .split(',')
  .filter(name => name !== '')

/** Status and code of the answer to everybody who would be permitted to use the route. */
export type Refusal = readonly [status: number, code: string]

const NO_ROUTE: Refusal = [404, 'route_not_found']
const NO_RECORDS: Refusal = [503, 'log_search_unavailable']

interface Routes {
  readonly plugin: string
  readonly paths: RegExp
  readonly refusal: Refusal
  /** True for routes that the API document has without the plugin too. */
  readonly documented?: true
}

const ROUTES: readonly Routes[] = [
  { plugin: 'market', paths: /^\/api\/(?:market\/|servers\/[^/]+\/(?:up|down)grade$)/, refusal: NO_ROUTE },
  { plugin: 'bundles', paths: /^\/api\/bundles(?:\/|$)/, refusal: NO_ROUTE },
  { plugin: 'log-database', paths: /^\/api\/(?:logs\/|monitoring\/(?:activity|export)$)/, refusal: NO_RECORDS },
  {
    plugin: 'log-database',
    paths: /^\/api\/monitoring\/(?:metrics|overview)$/,
    refusal: NO_RECORDS,
    documented: true,
  },
]

const routesAt = (path: string): Routes | undefined => {
  const [bare = ''] = path.split('?')
  return ROUTES.find(({ plugin, paths }) => PLUGINS_OFF.includes(plugin) && paths.test(bare))
}

/** The answer to requests for this path where its plugin is off; undefined where the hub has all that the route needs. */
export const refusalWithout = (path: string): Refusal | undefined => routesAt(path)?.refusal

/** The answer to each query of stored records; undefined where the hub stores them. */
export const refusalOfRecords = (): Refusal | undefined =>
  PLUGINS_OFF.includes('log-database') ? NO_RECORDS : undefined

/** True for paths that the API document of these hubs has. */
export function isDocumented(path: string): boolean {
  const found = routesAt(path)
  return found === undefined || found.documented === true
}

/** Throws unless the answer is this refusal. Without `expect`, since programs that are no tests start hubs too. */
export function expectRefusal(answer: Answer, [status, code]: Refusal, what: string): void {
  if (answer.status === status && answer.json.code === code) return
  throw new Error(`${what}: wanted ${status} ${code}, got ${answer.status} ${answer.text.slice(0, 400)}`)
}

/** Where the plugin of this path is off: true if each of these requests gets its refusal, and else an error. */
export async function refusedWithout(path: string, asks: readonly (() => Promise<Answer>)[]): Promise<boolean> {
  const refusal = refusalWithout(path)
  if (!refusal) return false
  for (const ask of asks) expectRefusal(await ask(), refusal, path)
  return true
}
