import type { JsonObject } from '../../contract/json.ts'
import { appsSettings } from '../../domain/client-capabilities.ts'
import type { ListItem } from './list-item.ts'

/** Readers of a list of tools: MCP clients that draw apps; other MCP clients; what passes all tools to a model. */
export type Audience = 'hosts' | 'clients' | 'models'

/** The audience of a caller with these capabilities; undefined for one that is no MCP client. */
export function audienceOf(capabilities: JsonObject | undefined): Audience {
  if (capabilities === undefined) return 'models'
  return appsSettings(capabilities) ? 'hosts' : 'clients'
}

/**
 * The tools for each audience; always the same arrays. Only a client that draws apps knows that an app-only tool is not for its
 * model. Tools that the OpenAI Apps SDK marks private stay with all clients, as theirs declare nothing.
 */
export function toolLists(all: readonly ListItem[]): (audience: Audience) => readonly ListItem[] {
  const kept = new Map<Audience, readonly ListItem[]>([['hosts', all]])
  return audience => {
    const known = kept.get(audience)
    if (known) return known
    const hides = ({ onlyFor }: ListItem) => onlyFor === 'apps' || (onlyFor === 'widgets' && audience === 'models')
    const list = all.some(hides) ? all.filter(item => !hides(item)) : all
    kept.set(audience, list)
    return list
  }
}
