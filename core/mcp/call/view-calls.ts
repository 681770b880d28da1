import { HubError } from '../../contract/errors.ts'
import { appsSettings } from '../../domain/client-capabilities.ts'
import { visibleName } from '../../domain/text/visible-text.ts'
import { itemJson } from '../../domain/tools/catalog-item.ts'
import { isOpenToApps, UI_SCHEME } from '../../domain/tools/ui-uris.ts'
import { SharedCache } from '../../transport-kit/shared-cache.ts'
import { resourceTarget } from '../scope/resource-targets.ts'
import type { Scope } from '../scope/scope.ts'
import type { ExchangeTarget, Target } from '../scope/scope-types.ts'
import { everyTarget } from '../scope/selector.ts'
import type { Exchange } from './exchange.ts'

type ResourceTarget = ExchangeTarget & { readonly original: string }

/** Clients of all users whose views are remembered. */
const MOST_CLIENTS = 20_000
/** Names in one hint. */
const MOST_NAMES = 8

/**
 * Requests of views, the user interfaces of MCP Apps. A view knows its own server only: it names tools as that server does, and
 * the client passes the name on as it is. In a group, where the tool may have another name, the member is found by the views
 * that the client has opened.
 */
export class ViewCalls {
  /** Ids of the servers whose views each client has opened. */
  readonly #opened = new SharedCache<string, ReadonlySet<string>>({ maxSize: MOST_CLIENTS })

  /** Records that a client reads a UI resource of a server, or calls a tool that has one. */
  opened(
    exchange: Exchange,
    scope: Scope,
    { member, original, item }: Pick<Target, 'member' | 'original' | 'item'>,
  ): void {
    const isView = exchange.method === 'resources/read' ? original.startsWith(UI_SCHEME) : item?.uiUris !== undefined
    if (!isView || !mayComeFromView(exchange, scope)) return
    const key = clientOf(exchange, scope)
    const { userId } = exchange.actor
    const known = this.#opened.get(userId, key)
    const { id } = member.server
    if (!known?.has(id)) this.#opened.set(userId, key, new Set([...(known ?? []), id]))
  }

  /**
   * The tool that a view calls by its server's own name. Undefined when the name is not that of a tool which an opened view may
   * call. Throws `tool_not_found`, with the names of all, when several servers have such a tool and such a view.
   */
  tool(exchange: Exchange, scope: Scope, name: string): Target | undefined {
    if (!mayComeFromView(exchange, scope)) return undefined
    const original = visibleName(name)
    const { tools, states } = scope.catalogFor(exchange.capabilities)
    const drawing = new Set(
      states.filter(({ catalog }) => catalog?.tools.some(item => item.uiUris)).map(({ member }) => member.server.id),
    )
    const found = [...everyTarget(tools)].filter(
      ([, target]) =>
        target.original === original &&
        drawing.has(target.member.server.id) &&
        target.item !== undefined &&
        isOpenToApps(itemJson(target.item)),
    )
    const opened = this.#opened.get(exchange.actor.userId, clientOf(exchange, scope))
    // A client may show a view that it kept from before the hub started.
    const possible = opened ? found.filter(([, { member }]) => opened.has(member.server.id)) : found
    if (possible.length > 1)
      throw severalTools(
        name,
        possible.map(([exposed]) => exposed),
      )
    return possible[0]?.[1]
  }

  /** The resource of a URI. Throws as `resourceTarget` does, unless the URI comes from a view. */
  resource(exchange: Exchange, scope: Scope, uri: string): ResourceTarget {
    try {
      return resourceTarget(scope, uri)
    } catch (error) {
      const ofView = this.#ofView(exchange, scope, uri)
      if (ofView) return ofView
      throw error
    }
  }

  /** The server of a resource that several could have, if it is the only one whose views the client has opened. */
  #ofView(exchange: Exchange, scope: Scope, uri: string): ResourceTarget | undefined {
    if (!mayComeFromView(exchange, scope)) return undefined
    const opened = this.#opened.get(exchange.actor.userId, clientOf(exchange, scope))
    const [serverId, ...others] = opened ?? []
    if (serverId === undefined || others.length > 0 || !scope.catalog.uris.allows(serverId, uri)) return undefined
    const member = scope.catalog.byServer.get(serverId)?.member
    return member && { member, original: uri }
  }
}

/** At a single server all names are the server's own. */
function mayComeFromView({ capabilities }: Exchange, { resolved }: Scope): boolean {
  return resolved.kind !== 'server' && capabilities !== undefined && appsSettings(capabilities) !== undefined
}

function clientOf({ session, clientName, clientVersion }: Exchange, { key }: Scope): string {
  return JSON.stringify(session ? [key, session.id] : [key, clientName, clientVersion])
}

function severalTools(name: string, names: readonly string[]): HubError {
  const shown = names.slice(0, MOST_NAMES).join(', ')
  return new HubError('tool_not_found', `Several servers here have a tool "${name.slice(0, 64)}" and an open view`, {
    hint: `The hub cannot see whose view calls it. Call it by its name in the list of tools: ${shown}.`,
  })
}
