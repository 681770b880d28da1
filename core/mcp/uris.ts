import type { JsonObject, JsonValue } from '../contract/json.ts'
import { isPlainObject } from './rpc.ts'
import { UriTemplate } from './uri-template.ts'

const HUB_SCHEME = 'patchbay://'

/** The resources of one member as its scope shows them. */
interface MemberUris {
  readonly serverId: string
  readonly alias: string
  readonly uris: readonly string[]
  readonly templates: readonly string[]
  /** False where only the URIs and templates above may be read. */
  readonly readsUnlisted: boolean
}

interface Entry extends MemberUris {
  readonly listed: ReadonlySet<string>
  readonly matchers: readonly UriTemplate[]
  readonly skeletons: ReadonlySet<string>
  /** Some of its URIs look like the hub's own. */
  readonly usesScheme: boolean
}

interface UriTarget {
  readonly serverId: string
  /** The URI as the member knows it. */
  readonly original: string
}

/**
 * The URIs of one scope: which form a client sees, and which member a URI belongs to. A URI that no other member lists or
 * matches stays as it is; otherwise it becomes `patchbay://{alias}/{original}`, and so does one that begins like this itself
 * and would lead to another member.
 */
export class UriTable {
  readonly #entries: readonly Entry[]
  readonly #byAlias: ReadonlyMap<string, Entry>
  readonly #byServer: ReadonlyMap<string, Entry>
  readonly #withUris: number

  constructor(members: readonly MemberUris[]) {
    this.#entries = members.map(member => ({
      ...member,
      listed: new Set(member.uris),
      matchers: member.templates.map(template => new UriTemplate(template)),
      skeletons: new Set(member.templates.map(skeleton)),
      usesScheme: [...member.uris, ...member.templates].some(uri => uri.startsWith(HUB_SCHEME)),
    }))
    this.#byAlias = new Map(this.#entries.map(entry => [entry.alias, entry]))
    this.#byServer = new Map(this.#entries.map(entry => [entry.serverId, entry]))
    this.#withUris = this.#entries.filter(hasUris).length
  }

  /** Whether some URI of this member might have another form here, so that its results must be looked into. */
  mayMap(serverId: string): boolean {
    if (this.#withUris === 0) return false
    const own = this.#byServer.get(serverId)
    return this.#withUris > (own && hasUris(own) ? 1 : 0) || (own?.usesScheme ?? false)
  }

  /** Whether a URI of this member may be read here. */
  allows(serverId: string, original: string): boolean {
    const entry = this.#byServer.get(serverId)
    return entry !== undefined && (entry.readsUnlisted || claims(entry, original))
  }

  publicUri(serverId: string, uri: string): string {
    const contested = this.#entries.some(entry => entry.serverId !== serverId && claims(entry, uri))
    return contested || uri.startsWith(HUB_SCHEME) ? this.#prefixed(serverId, uri) : uri
  }

  /** Templates that differ in the names of their variables alone are the same template. */
  publicTemplate(serverId: string, template: string): string {
    const shape = skeleton(template)
    const contested = this.#entries.some(entry => entry.serverId !== serverId && entry.skeletons.has(shape))
    return contested || template.startsWith(HUB_SCHEME) ? this.#prefixed(serverId, template) : template
  }

  /** The member and its URI; `ambiguous` when several could have it, undefined when none can. */
  resolve(uri: string): UriTarget | 'ambiguous' | undefined {
    const named = this.#named(uri)
    if (named) return named
    const claimants = this.#entries.filter(entry => claims(entry, uri))
    if (claimants.length === 1) return target(claimants[0], uri)
    if (claimants.length > 1) {
      // Lists show a contested URI in its prefixed form, so the plain one was made from a template.
      const matching = claimants.filter(entry => entry.matchers.some(matcher => matcher.matches(uri)))
      return matching.length === 1 ? target(matching[0], uri) : 'ambiguous'
    }
    const open = this.#entries.filter(entry => entry.readsUnlisted)
    return open.length > 1 ? 'ambiguous' : target(open[0], uri)
  }

  /** The template (or URI) of a completion's `ref`, back to its member. */
  resolveTemplate(template: string): UriTarget | undefined {
    const named = this.#named(template)
    if (named) return named
    const owners = this.#entries.filter(entry => entry.templates.includes(template) || entry.listed.has(template))
    return owners.length === 1 ? target(owners[0], template) : undefined
  }

  #named(uri: string): UriTarget | undefined {
    if (!uri.startsWith(HUB_SCHEME)) return undefined
    const slash = uri.indexOf('/', HUB_SCHEME.length)
    const entry = slash < 0 ? undefined : this.#byAlias.get(uri.slice(HUB_SCHEME.length, slash))
    if (!entry) return undefined
    const original = uri.slice(slash + 1)
    const readable = entry.readsUnlisted || claims(entry, original) || entry.templates.includes(original)
    return readable ? target(entry, original) : undefined
  }

  #prefixed(serverId: string, original: string): string {
    const entry = this.#byServer.get(serverId)
    return entry ? `${HUB_SCHEME}${entry.alias}/${original}` : original
  }
}

function hasUris(entry: MemberUris): boolean {
  return entry.uris.length > 0 || entry.templates.length > 0
}

function claims(entry: Entry, uri: string): boolean {
  return entry.listed.has(uri) || entry.matchers.some(matcher => matcher.matches(uri))
}

function target(entry: Entry | undefined, original: string): UriTarget | undefined {
  return entry && { serverId: entry.serverId, original }
}

function skeleton(template: string): string {
  return template.replace(/\{[^{}]*\}/g, '{}')
}

/** Rewrites every resource URI of a result: contents, links, embedded resources, prompt messages, `_meta.ui.resourceUri`. */
export function mapResultUris(result: JsonValue, map: (uri: string) => string): JsonValue {
  if (!isPlainObject(result)) return result
  const mapped: JsonObject = { ...withUiUri(result, map) }
  if (Array.isArray(mapped.content)) mapped.content = mapped.content.map(item => mapContent(item, map))
  if (Array.isArray(mapped.contents)) mapped.contents = mapped.contents.map(item => withUri(item, map))
  if (Array.isArray(mapped.messages))
    mapped.messages = mapped.messages.map(message =>
      isPlainObject(message) && message.content !== undefined
        ? { ...message, content: mapContent(message.content, map) }
        : message,
    )
  return mapped
}

function mapContent(content: JsonValue, map: (uri: string) => string): JsonValue {
  if (Array.isArray(content)) return content.map(item => mapContent(item, map))
  if (!isPlainObject(content)) return content
  if (content.type === 'resource_link') return withUri(content, map)
  if (content.type === 'resource' && content.resource !== undefined)
    return { ...content, resource: withUri(content.resource, map) }
  return content
}

function withUri(value: JsonValue, map: (uri: string) => string): JsonValue {
  return isPlainObject(value) && typeof value.uri === 'string' ? { ...value, uri: map(value.uri) } : value
}

/** `_meta.ui.resourceUri` names the resource that draws a tool or its result. */
export function withUiUri(item: JsonObject, map: (uri: string) => string): JsonObject {
  const meta = item._meta
  const ui = isPlainObject(meta) ? meta.ui : undefined
  if (!isPlainObject(meta) || !isPlainObject(ui) || typeof ui.resourceUri !== 'string') return item
  return { ...item, _meta: { ...meta, ui: { ...ui, resourceUri: map(ui.resourceUri) } } }
}
