import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { UI_SCHEME, withUiUri } from '../../domain/tools/ui-uris.ts'
import { isPlainObject } from '../rpc/rpc.ts'
import { Steps, UriTemplate } from './uri-template.ts'

const HUB_SCHEME = 'patchbay://'
/** Schemes that stay in front of the member's alias, since clients recognize resources by them. */
const KEPT_SCHEMES = [UI_SCHEME, 'skill://']
/** Steps for one URI, some milliseconds; beyond them it counts as contested and needs its prefixed form. */
const STEPS = 200_000
/** Steps for all URIs of one result, or of all lists of a scope, together. */
const MANY_STEPS = 1_000_000

/** The resources of one member as its scope exposes them. */
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
}

interface UriTarget {
  readonly serverId: string
  /** The URI at the upstream. */
  readonly original: string
}

/** Options of a `UriTable`. */
interface UriTableOptions {
  /** True where several servers can meet: all URIs of a kept scheme name their member. Default false. */
  readonly keepsSchemes?: boolean
}

/**
 * The URIs of one scope: which form a client sees, and which member a URI belongs to. A URI that no other member lists
 * or matches stays as it is; otherwise it becomes `patchbay://{alias}/{original}`. So does a URI that already has this
 * form and would resolve to another member. User interfaces and skills keep their scheme, by which clients recognize them: in
 * a scope with `keepsSchemes`, `ui://x` always becomes `ui://{alias}/x`.
 */
export class UriTable {
  readonly #entries: readonly Entry[]
  readonly #byAlias: ReadonlyMap<string, Entry>
  readonly #byServer: ReadonlyMap<string, Entry>
  readonly #withUris: number
  readonly #open: readonly Entry[]
  readonly #withHubUris: boolean
  /** The member that lists each URI, and each template's shape; `MANY`: more than one. */
  readonly #listedBy = new Map<string, string>()
  readonly #shapedBy = new Map<string, string>()
  readonly #withTemplates: readonly Entry[]
  readonly #keepsSchemes: boolean

  constructor(members: readonly MemberUris[], { keepsSchemes = false }: UriTableOptions = {}) {
    this.#keepsSchemes = keepsSchemes
    this.#entries = members.map(member => ({
      ...member,
      listed: new Set(member.uris),
      matchers: member.templates.map(template => new UriTemplate(template)),
      skeletons: new Set(member.templates.map(skeleton)),
    }))
    for (const { serverId, listed, skeletons } of this.#entries) {
      for (const uri of listed) this.#listedBy.set(uri, this.#listedBy.has(uri) ? MANY : serverId)
      for (const shape of skeletons) this.#shapedBy.set(shape, this.#shapedBy.has(shape) ? MANY : serverId)
    }
    this.#withTemplates = this.#entries.filter(({ matchers }) => matchers.length > 0)
    this.#byAlias = new Map(this.#entries.map(entry => [entry.alias, entry]))
    this.#byServer = new Map(this.#entries.map(entry => [entry.serverId, entry]))
    this.#withUris = this.#entries.filter(hasUris).length
    this.#open = this.#entries.filter(entry => entry.readsUnlisted)
    this.#withHubUris = this.#entries.some(entry => [...entry.uris, ...entry.templates].some(isHubUri))
  }

  /** True when URIs of a kept scheme are exposed in another form. */
  get keepsSchemes(): boolean {
    return this.#keepsSchemes
  }

  /** True when the text may name URIs whose scheme is kept; encoders may escape the slashes behind it. */
  mayKeep(text: { includes(part: string): boolean }): boolean {
    return this.#keepsSchemes && KEPT_SCHEMES.some(scheme => text.includes(scheme.slice(0, -2)))
  }

  /** True when some URI of this member without a kept scheme might be exposed in another form, so that its results must be searched. */
  mayMap(serverId: string): boolean {
    const own = this.#byServer.get(serverId)
    if (this.#withHubUris || (own?.readsUnlisted && this.#open.length > 1)) return true
    if (this.#withUris === 0) return false
    return this.#withUris > (own && hasUris(own) ? 1 : 0)
  }

  /** True when a URI of this member may be read here. */
  allows(serverId: string, original: string): boolean {
    const entry = this.#byServer.get(serverId)
    return entry !== undefined && (entry.readsUnlisted || claims(entry, original, new Steps(STEPS)) === true)
  }

  /** `byHub`: clients read it through the hub alone, even a web URL. */
  publicUri(serverId: string, uri: string, steps = new Steps(STEPS), byHub = false): string {
    if (this.#schemeOf(uri)) return this.#prefixed(serverId, uri)
    const contested =
      isOther(this.#listedBy.get(uri), serverId) ||
      this.#withTemplates.some(entry => entry.serverId !== serverId && claims(entry, uri, steps) !== false)
    return contested || this.#leadsAstray(serverId, uri, steps, byHub) ? this.#prefixed(serverId, uri) : uri
  }

  /** Like `publicUri` for the many URIs of one result or of all lists: they share one work limit. */
  publicUris(): (serverId: string, uri: string, byHub?: boolean) => string {
    const steps = manySteps()
    return (serverId, uri, byHub) => this.publicUri(serverId, uri, steps, byHub)
  }

  /** True when a URI that no other member claims would still not resolve to this one. */
  #leadsAstray(serverId: string, uri: string, steps: Steps, byHub: boolean): boolean {
    const own = this.#byServer.get(serverId)
    if (!own) return false
    if (this.#looksOwn(uri)) return true
    if (!own.readsUnlisted || this.#open.length < 2) return false
    // A client fetches web URLs without the hub, but not those of skills.
    if (!byHub && /^https?:/i.test(uri)) return false
    return claims(own, uri, steps) !== true
  }

  /** Templates that differ only in the names of their variables are the same template. */
  publicTemplate(serverId: string, template: string): string {
    if (this.#schemeOf(template)) return this.#prefixed(serverId, template)
    const shape = skeleton(template)
    const contested = isOther(this.#shapedBy.get(shape), serverId)
    return contested || this.#looksOwn(template) ? this.#prefixed(serverId, template) : template
  }

  /** A member that is itself a hub has URIs with the same scheme, which may contain an alias of a member here. */
  #looksOwn(uri: string): boolean {
    return isHubUri(uri) && this.#byAlias.has(aliasIn(uri))
  }

  /** The member and its URI; `ambiguous` when several could have it, undefined when none can. */
  resolve(uri: string, steps = new Steps(STEPS)): UriTarget | 'ambiguous' | undefined {
    const named = this.#named(uri) ?? this.#namedKept(uri, entry => claims(entry.of, entry.uri, steps) === true)
    if (named) return named
    const claimants = this.#entries.filter(entry => claims(entry, uri, steps) !== false)
    if (steps.left < 0) return 'ambiguous'
    if (claimants.length === 1) return target(claimants[0], uri)
    if (claimants.length > 1) {
      // Lists show a contested URI in its prefixed form, so the plain one was expanded from a template.
      const matching = claimants.filter(entry => entry.matchers.some(matcher => matcher.matches(uri, steps)))
      return matching.length === 1 ? target(matching[0], uri) : 'ambiguous'
    }
    return this.#open.length > 1 ? 'ambiguous' : target(this.#open[0], uri)
  }

  /** Resolves the template (or URI) of a completion's `ref` to its member. */
  resolveTemplate(template: string): UriTarget | undefined {
    const named =
      this.#named(template) ??
      this.#namedKept(template, ({ of, uri }) => of.templates.includes(uri) || of.listed.has(uri))
    if (named) return named
    const owners = this.#entries.filter(entry => entry.templates.includes(template) || entry.listed.has(template))
    return owners.length === 1 ? target(owners[0], template) : undefined
  }

  #named(uri: string): UriTarget | undefined {
    if (!isHubUri(uri)) return undefined
    const entry = this.#byAlias.get(aliasIn(uri))
    if (!entry) return undefined
    const original = uri.slice(HUB_SCHEME.length + entry.alias.length + 1)
    const readable =
      entry.readsUnlisted || claims(entry, original, new Steps(STEPS)) === true || entry.templates.includes(original)
    return readable ? target(entry, original) : undefined
  }

  /**
   * The member that a URI of a kept scheme names, and its own URI: the one behind the alias; else, when the member itself begins
   * its URIs with its alias, the URI as it is. It never belongs to another member, whatever that one lists. `has`: true when
   * the member has the URI.
   */
  #namedKept(
    uri: string,
    has: (named: { readonly of: Entry; readonly uri: string }) => boolean,
  ): UriTarget | undefined {
    const scheme = this.#schemeOf(uri)
    if (scheme === undefined) return undefined
    const slash = uri.indexOf('/', scheme.length)
    const of = slash < 0 ? undefined : this.#byAlias.get(uri.slice(scheme.length, slash))
    if (!of) return undefined
    const original = scheme + uri.slice(slash + 1)
    if (has({ of, uri: original })) return target(of, original)
    if (has({ of, uri })) return target(of, uri)
    return of.readsUnlisted ? target(of, original) : undefined
  }

  #prefixed(serverId: string, original: string): string {
    const entry = this.#byServer.get(serverId)
    if (!entry) return original
    const kept = this.#schemeOf(original)
    return kept === undefined
      ? `${HUB_SCHEME}${entry.alias}/${original}`
      : `${kept}${entry.alias}/${original.slice(kept.length)}`
  }

  /** The kept scheme of a URI; undefined for others, and where schemes are not kept. */
  #schemeOf(uri: string): string | undefined {
    return this.#keepsSchemes ? KEPT_SCHEMES.find(scheme => uri.startsWith(scheme)) : undefined
  }
}

const MANY = ''

function isOther(listedBy: string | undefined, serverId: string): boolean {
  return listedBy !== undefined && listedBy !== serverId
}

/** The work limit for many URIs that are resolved together. */
export function manySteps(): Steps {
  return new Steps(MANY_STEPS)
}

function isHubUri(uri: string): boolean {
  return uri.startsWith(HUB_SCHEME)
}

/** The alias in a `patchbay://` URI; empty: none. */
function aliasIn(uri: string): string {
  return uri.slice(HUB_SCHEME.length).match(/^([^/]*)\//)?.[1] ?? ''
}

function hasUris(entry: MemberUris): boolean {
  return entry.uris.length > 0 || entry.templates.length > 0
}

/** Undefined when the steps ran out before the result was known. */
function claims(entry: Entry, uri: string, steps: Steps): boolean | undefined {
  if (entry.listed.has(uri)) return true
  for (const matcher of entry.matchers) {
    const matches = matcher.matches(uri, steps)
    if (matches !== false) return matches
  }
  return false
}

function target(entry: Entry | undefined, original: string): UriTarget | undefined {
  return entry && { serverId: entry.serverId, original }
}

function skeleton(template: string): string {
  return template.replace(/\{[^{}]*\}/g, '{}')
}

/**
 * Rewrites all resource URIs of a result: contents, links, embedded resources, messages, and the UI resource in `_meta`. `byHub`:
 * true for those of skills, which clients read through the hub alone.
 */
export function mapResultUris(result: JsonValue, map: (uri: string, byHub?: boolean) => string): JsonValue {
  if (!isPlainObject(result)) return result
  const mapped: JsonObject = { ...withUiUri(result, map) }
  if (Array.isArray(mapped.content)) mapped.content = mapped.content.map(item => mapContent(item, map))
  if (Array.isArray(mapped.contents)) mapped.contents = mapped.contents.map(item => withUri(item, map))
  // Skills: the entries of `skills/list` and `skills/get`, and the children of a directory.
  const read = (uri: string): string => map(uri, true)
  if (Array.isArray(mapped.skills)) mapped.skills = mapped.skills.map(skill => mapSkill(skill, read))
  if (mapped.skill !== undefined) mapped.skill = mapSkill(mapped.skill, read)
  if (Array.isArray(mapped.resources)) mapped.resources = mapped.resources.map(item => withUri(item, read))
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

function mapSkill(skill: JsonValue, map: (uri: string) => string): JsonValue {
  const named = withUri(skill, map)
  if (!isPlainObject(named) || !Array.isArray(named.resources)) return named
  return { ...named, resources: named.resources.map(file => withUri(file, map)) }
}

function withUri(value: JsonValue, map: (uri: string) => string): JsonValue {
  return isPlainObject(value) && typeof value.uri === 'string' ? { ...value, uri: map(value.uri) } : value
}
