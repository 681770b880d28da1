import type { RpcError } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { parseExact } from '../../domain/json/exact-json.ts'
import type { JsonText } from '../../domain/json/long-text.ts'
import { upstreamName } from '../../domain/tools/catalog-item.ts'
import { invalid, isPlainObject } from '../rpc/rpc.ts'
import type { Scope } from './scope.ts'
import type { ScopeMember, Target } from './scope-types.ts'
import type { Steps } from './uri-template.ts'
import { mapResultUris } from './uris.ts'

/** The form in which the caller named a URI; the response uses the same form. */
export interface OwnUri {
  readonly original: string
  readonly uri: string
}

/** The member and the original of a URI. Throws resource_not_found, uri_ambiguous. */
export function resourceTarget(scope: Scope, uri: string): Target {
  const target = findResource(scope, uri)
  if (target) return target
  const shown = uri.slice(0, 256)
  if (scope.catalog.uris.resolve(uri) === 'ambiguous')
    throw new HubError('uri_ambiguous', `Several servers here could have the resource "${shown}"`, {
      hint: 'Use its form from the list of resources, which names the server.',
      data: { uri },
    })
  throw new HubError('resource_not_found', `There is no resource "${shown}" here`, { data: { uri } })
}

/** The member and the original of a URI; undefined unless exactly one member has it. */
export function findResource(scope: Scope, uri: string, steps?: Steps): Target | undefined {
  const found = scope.catalog.uris.resolve(uri, steps)
  if (!found || found === 'ambiguous') return undefined
  const member = scope.catalog.byServer.get(found.serverId)?.member
  return member && { member, original: found.original }
}

/** The member of a completion, and its `ref` in the upstream's form. Throws params_invalid. */
export function completionTarget(scope: Scope, ref: JsonObject): { target: Target; original: JsonObject } {
  if (ref.type === 'ref/prompt' && typeof ref.name === 'string') {
    const target = scope.prompt(ref.name)
    if (target) return { target, original: { ...ref, name: target.item ? upstreamName(target.item) : target.original } }
  }
  if (ref.type === 'ref/resource' && typeof ref.uri === 'string') {
    const found = scope.catalog.uris.resolveTemplate(ref.uri)
    const member = found && scope.catalog.byServer.get(found.serverId)?.member
    if (member) return { target: { member, original: found.original }, original: { ...ref, uri: found.original } }
  }
  throw invalid('completion/complete names a prompt or a resource that is not here')
}

/** The text of a result with every URI in its exposed form. */
export function exposeUris(scope: Scope, member: ScopeMember, text: JsonText, own: OwnUri | undefined): JsonText {
  const { uris } = scope.catalog
  const serverId = member.server.id
  const renamed = own !== undefined && own.uri !== own.original
  // Most results contain no resource URI; searching the text is cheaper than parsing it.
  if (!renamed && !((uris.mayMap(serverId) || uris.mayKeep(text)) && namesUri(text))) return text
  let changed = false
  const shownUri = uris.publicUris()
  const mapped = mapResultUris(parseExact(String(text)), (uri, byHub) => {
    const shown = own && uri === own.original ? own.uri : shownUri(serverId, uri, byHub)
    if (shown !== uri) changed = true
    return shown
  })
  return changed ? JSON.stringify(mapped) : text
}

function namesUri(text: JsonText): boolean {
  if (typeof text === 'string') return /(?:[uU]ri|outputTemplate)"/.test(text)
  return text.includes('uri"') || text.includes('Uri"') || text.includes('outputTemplate"')
}

/** Exposes the URI of the resource that an error may name. */
export function exposeErrorUri(
  { catalog }: Scope,
  { server }: ScopeMember,
  error: RpcError,
  own: OwnUri | undefined,
): RpcError {
  const { data } = error
  if (!isPlainObject(data) || typeof data.uri !== 'string') return error
  const uri = own && data.uri === own.original ? own.uri : catalog.uris.publicUri(server.id, data.uri)
  return uri === data.uri ? error : { ...error, data: { ...data, uri } }
}
