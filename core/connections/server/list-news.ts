import type { ServerRecord } from '../../contract/records.ts'
import type { ListCapability } from '../../domain/mcp-methods.ts'
import type { CatalogItem } from '../../domain/tools/catalog-item.ts'
import type { ServerContext } from './server-context.ts'

/** Tools named in one reading, since each is an event that is stored and sent to listeners. */
const MOST_EVENTS = 100

/** Emits `catalog.changed` when lists of a server differ, or more or fewer of their items are offered. */
export function emitListChange(
  { bus }: Pick<ServerContext, 'bus'>,
  { id, ownerId, name }: ServerRecord,
  kinds: readonly ListCapability[],
  older = false,
): void {
  const data = { serverId: id, name, kinds, ...(older ? { older } : {}) }
  if (kinds.length > 0) bus.emit('catalog.changed', ownerId, data)
}

/** Stores the tools' definitions and emits an event for each change, at most 100; the log has the number of more. */
export function saveDefinitions(
  { bus, definitions, log }: Pick<ServerContext, 'bus' | 'definitions' | 'log'>,
  { id, ownerId, name, definitionPolicy }: ServerRecord,
  tools: readonly CatalogItem[],
  older = false,
): void {
  const blocked = definitionPolicy === 'pin'
  const news = definitions.read(id, tools, older)
  if (news.length > MOST_EVENTS)
    log.warn('Many tools of a server say something else of themselves than before', {
      server: name,
      tools: news.length,
      named: MOST_EVENTS,
    })
  for (const { tool, hash } of news.slice(0, MOST_EVENTS)) {
    log.warn('A tool says something else of itself than before', { server: name, tool, blocked })
    bus.emit('tool.definition_changed', ownerId, { serverId: id, name, tool, hash, blocked })
  }
}
