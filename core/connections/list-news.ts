import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord } from '../contract/records.ts'
import type { ServerContext } from './server-context.ts'

/** Tells that lists of a server are others now, or that more or fewer of their items are offered. */
export function tellListChange(
  { bus }: Pick<ServerContext, 'bus'>,
  { id, ownerId, name }: ServerRecord,
  kinds: readonly ('tools' | 'prompts' | 'resources')[],
): void {
  if (kinds.length > 0) bus.emit('catalog.changed', ownerId, { serverId: id, name, kinds })
}

/** Keeps what the tools say of themselves, and tells where that is something new. */
export function noteDefinitions(
  { bus, definitions, log }: Pick<ServerContext, 'bus' | 'definitions' | 'log'>,
  { id, ownerId, name, definitionPolicy }: ServerRecord,
  tools: readonly JsonObject[],
): void {
  const blocked = definitionPolicy === 'pin'
  for (const { tool, hash } of definitions.read(id, tools)) {
    log.warn('A tool says something else of itself than before', { server: name, tool, blocked })
    bus.emit('tool.definition_changed', ownerId, { serverId: id, name, tool, hash, blocked })
  }
}
