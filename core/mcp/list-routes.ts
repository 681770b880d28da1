import type { CatalogKind } from '../connections/api.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Outcome } from './exchange.ts'
import type { Pages } from './pages.ts'
import type { MethodHandler } from './router.ts'
import { invalid } from './rpc.ts'
import type { Scope } from './scope.ts'

/** The four lists. `settled` waits for what is being read again; undefined when nothing is. */
export function listRoutes(
  pages: Pages,
  settled: (scope: Scope) => Promise<void> | undefined,
): Readonly<Record<string, MethodHandler>> {
  const list = (kind: CatalogKind): MethodHandler => {
    return ({ scope, exchange }, params) => {
      const waiting = settled(scope)
      const modern = exchange.modern !== undefined
      if (waiting === undefined) return page(kind, scope, params, modern)
      return waiting.then(() => page(kind, scope, params, modern))
    }
  }
  const page = (kind: CatalogKind, scope: Scope, params: JsonObject | undefined, modern: boolean): Outcome => {
    const cursor = params?.cursor
    if (cursor !== undefined && typeof cursor !== 'string') throw invalid('"cursor" must be a text')
    const { lists, states } = scope.catalog
    const marks = () => states.flatMap(({ catalog }) => catalog?.instances ?? [])
    return { kind: 'result', resultText: pages.page(kind, lists[kind], scope.key, cursor, modern, marks) }
  }
  return {
    'tools/list': list('tools'),
    'prompts/list': list('prompts'),
    'resources/list': list('resources'),
    'resources/templates/list': list('resourceTemplates'),
  }
}
