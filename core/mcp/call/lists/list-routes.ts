import type { JsonObject } from '../../../contract/json.ts'
import { LIST_KINDS, LISTS, type ListKind } from '../../../domain/mcp-methods.ts'
import { invalid } from '../../rpc/rpc.ts'
import type { ListItem } from '../../scope/list-item.ts'
import type { MergedCatalog } from '../../scope/merge.ts'
import type { Scope } from '../../scope/scope.ts'
import { readerOf } from '../../scope/tool-readers.ts'
import type { Outcome } from '../exchange.ts'
import type { Pages } from '../pages.ts'
import type { MethodHandler } from '../router.ts'

/** Handlers of the four list methods. `settled` waits for lists that are being read again; undefined when none is. */
export function listRoutes(
  pages: Pages,
  settled: (scope: Scope, capabilities: JsonObject | undefined) => Promise<void> | undefined,
): Readonly<Record<string, MethodHandler>> {
  const list = (kind: ListKind): MethodHandler => {
    return ({ scope, exchange }, params) => {
      // Only the list of tools depends on the client's capabilities.
      const capabilities = kind === 'tools' ? exchange.capabilities : undefined
      const waiting = settled(scope, capabilities)
      const modern = exchange.modern !== undefined
      const answer = (): Outcome => {
        const catalog = scope.catalogFor(capabilities)
        const items = kind === 'tools' ? catalog.toolsFor(readerOf(capabilities)) : catalog.lists[kind]
        return page(kind, scope, items, catalog, params, modern)
      }
      return waiting === undefined ? answer() : waiting.then(answer)
    }
  }
  const page = (
    kind: ListKind,
    { key }: Scope,
    items: readonly ListItem[],
    { states }: MergedCatalog,
    params: JsonObject | undefined,
    modern: boolean,
  ): Outcome => {
    // Some clients write null or an empty text for the first page.
    const given = params?.cursor
    const cursor = given === null || given === '' ? undefined : given
    if (cursor !== undefined && typeof cursor !== 'string') throw invalid('"cursor" must be a text')
    const marks = () => states.flatMap(({ catalog }) => catalog?.instances ?? [])
    return { kind: 'result', resultText: pages.page(kind, items, key, cursor, modern, marks) }
  }
  return Object.fromEntries(LIST_KINDS.map(kind => [LISTS[kind].method, list(kind)]))
}
