import type { JsonObject } from '../../contract/json.ts'
import { appsSettings } from '../../domain/client-capabilities.ts'
import type { ListItem } from './list-item.ts'

/** Readers of a list of tools: MCP clients that draw apps; other MCP clients; what passes all tools to a model. */
export type ToolReader = 'hosts' | 'clients' | 'models'

/** The kind of caller that declares these capabilities; undefined where the caller is no MCP client. */
export function readerOf(capabilities: JsonObject | undefined): ToolReader {
  if (capabilities === undefined) return 'models'
  return appsSettings(capabilities) ? 'hosts' : 'clients'
}

/**
 * The tools for each reader; always the same arrays. Only a client that draws apps knows that an app-only tool is not for its
 * model. Tools that the OpenAI Apps SDK marks private stay with all clients, as theirs declare nothing.
 */
export function toolLists(all: readonly ListItem[]): (reader: ToolReader) => readonly ListItem[] {
  const kept = new Map<ToolReader, readonly ListItem[]>([['hosts', all]])
  return reader => {
    const known = kept.get(reader)
    if (known) return known
    const hides = ({ onlyFor }: ListItem) => onlyFor === 'apps' || (onlyFor === 'widgets' && reader === 'models')
    const list = all.some(hides) ? all.filter(item => !hides(item)) : all
    kept.set(reader, list)
    return list
  }
}
