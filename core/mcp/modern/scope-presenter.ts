import type { Caching } from '../../connections/api.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { type CacheHint, cacheHint } from '../../domain/cache-hint.ts'
import { MODERN_VERSION, SERVER_INFO_KEY } from '../../domain/era.ts'
import { type JsonText, LongText } from '../../domain/json/long-text.ts'
import { isPlainObject, parseExact } from '../rpc/rpc.ts'
import { mergeCapabilities, mergedInstructions, mergedServerInfo } from '../scope/capabilities.ts'
import { leftOutWarnings } from '../scope/group-warnings.ts'
import type { MergedCatalog } from '../scope/merge.ts'
import type { Scope } from '../scope/scope.ts'
import type { ResolvedScope } from '../scope/scope-types.ts'

/** What comes from an upstream with a handshake says nothing about how long it may be kept. */
const NOT_KEPT: CacheHint = { ttlMs: 0, cacheScope: 'private' }

/** Methods whose results say how long they may be kept. */
const CACHEABLE: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])
/** Answers that are made of what all members said, by what they said it of. */
const KEPT = {
  'server/discover': 'discover',
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const satisfies Record<string, keyof Caching>
const LIST = /\/list$/

/** A scope as clients of the modern era meet it, as long as its catalogue stays the same. */
export class ScopePresenter {
  readonly capabilities: JsonObject
  readonly #serverInfo: JsonObject
  readonly #instructions: string | undefined
  readonly #head: string
  /** Of the answers that may be kept, by method. */
  readonly #caching: ReadonlyMap<string, CacheHint>
  /** Everybody who reads here sees the same. */
  readonly #forAll: boolean
  /** By method, the text that was last turned into its modern form, and that form: lists rarely change. */
  readonly #lists = new Map<string, { readonly from: string; readonly to: string }>()

  constructor({ resolved, catalog }: Scope, version: string) {
    this.capabilities = mergeCapabilities(resolved, catalog.states)
    // Experimental features are made for one era, and every upstream so far is of the other one.
    delete this.capabilities.experimental
    this.#serverInfo = mergedServerInfo(resolved, catalog.states, version)
    this.#instructions = mergedInstructions(resolved, catalog.states, leftOutWarnings(catalog.leftOut))
    const meta = `"_meta":${JSON.stringify({ [SERVER_INFO_KEY]: this.#serverInfo })}`
    this.#head = `{"resultType":"complete",${meta}`
    this.#forAll = isForAll(resolved)
    this.#caching = new Map(Object.entries(KEPT).map(([m, part]) => [m, hintOf(resolved, catalog, part)]))
  }

  /** The answer to `server/discover`. */
  discover(): string {
    const instructions = this.#instructions
    return this.result('server/discover', {
      supportedVersions: [MODERN_VERSION],
      capabilities: this.capabilities,
      ...(instructions === undefined ? {} : { instructions }),
    })
  }

  /** A result of the hub's own. `final`: what the method promises, and not the wish to hear more first. */
  result(method: string, value: JsonObject, final = true): string {
    return JSON.stringify({
      resultType: 'complete',
      ...(final ? this.#hint(method) : {}),
      ...value,
      _meta: this.#meta(value._meta),
    })
  }

  /**
   * A result text in the form of this era; undefined when it is none that this era knows. `keepable`: what its upstream says
   * about keeping it counts.
   */
  shape(method: string, text: JsonText, keepable = false): JsonText | undefined {
    if (typeof text !== 'string') return this.#shapeLong(method, text, keepable)
    if (!LIST.test(method)) return this.#shape(method, text, keepable)
    const known = this.#lists.get(method)
    if (known && known.from === text) return known.to
    const to = this.#shape(method, text)
    if (to !== undefined) this.#lists.set(method, { from: text, to })
    return to
  }

  #shape(method: string, text: string, keepable = false): string | undefined {
    const hint = this.#hint(method)
    // Most results have none of the members that are written here, so that their text can stay as it is.
    const plain =
      text.startsWith('{"') &&
      !text.includes('"_meta"') &&
      !text.includes('"resultType"') &&
      !(hint && /"(?:ttlMs|cacheScope|execution)"/.test(text))
    if (plain) return `${this.#headWith(hint)}${text.slice(1)}`
    const value = parseExact(text)
    if (!isPlainObject(value)) return undefined
    if (value.resultType !== undefined && value.resultType !== 'complete') return undefined
    const own = keepable && method === 'resources/read' ? this.#ownHint(value) : hint
    return this.result(method, { ...withoutTasks(method, value), ...(own ? { ...own } : {}) })
  }

  #shapeLong(method: string, text: LongText, keepable: boolean): JsonText | undefined {
    const hint = this.#hint(method)
    const written = ['"_meta"', '"resultType"', ...(hint ? ['"ttlMs"', '"cacheScope"', '"execution"'] : [])]
    const [first, ...others] = text.parts
    const plain = first?.[0] === 0x7b && first[1] === 0x22 && !written.some(member => text.includes(member))
    if (!plain) return this.#shape(method, text.toString(), keepable)
    return new LongText([Buffer.from(this.#headWith(hint)), first.subarray(1), ...others])
  }

  /** Up to the first member of the upstream. */
  #headWith(hint: CacheHint | undefined): string {
    const kept = hint ? `,"ttlMs":${hint.ttlMs},"cacheScope":"${hint.cacheScope}"` : ''
    return `${this.#head}${kept},`
  }

  #ownHint(value: JsonObject): CacheHint {
    const hint = cacheHint(value)
    return this.#forAll ? hint : { ...hint, cacheScope: 'private' }
  }

  /** Undefined for what says nothing of it. */
  #hint(method: string): CacheHint | undefined {
    return CACHEABLE.has(method) ? (this.#caching.get(method) ?? NOT_KEPT) : undefined
  }

  #meta(own: JsonValue | undefined): JsonObject {
    return { ...(isPlainObject(own) ? own : {}), [SERVER_INFO_KEY]: this.#serverInfo }
  }
}

function isForAll({ kind, group, members }: ResolvedScope): boolean {
  return (
    kind !== 'all' && group.visibility === 'public' && members.every(({ server }) => server.visibility === 'public')
  )
}

/** The shortest time that a member allows; for everybody only where every member says so and everybody sees the same. */
function hintOf(resolved: ResolvedScope, { states }: MergedCatalog, part: keyof Caching): CacheHint {
  const hints = states.map(({ catalog }) => catalog?.caching?.[part] ?? NOT_KEPT)
  if (hints.length === 0) return NOT_KEPT
  const isPublic = isForAll(resolved) && hints.every(({ cacheScope }) => cacheScope === 'public')
  return { ttlMs: Math.min(...hints.map(({ ttlMs }) => ttlMs)), cacheScope: isPublic ? 'public' : 'private' }
}

/** The faces of all scopes in use. */
export class ScopePresenters {
  readonly #version: string
  readonly #byCatalog = new WeakMap<MergedCatalog, ScopePresenter>()

  /** `version`: the hub's own. */
  constructor(version: string) {
    this.#version = version
  }

  of(scope: Scope): ScopePresenter {
    const { catalog } = scope
    const known = this.#byCatalog.get(catalog)
    if (known) return known
    const face = new ScopePresenter(scope, this.#version)
    this.#byCatalog.set(catalog, face)
    return face
  }
}

/** Tasks are no part of the modern core: what tools say about them means something else there. */
function withoutTasks(method: string, value: JsonObject): JsonObject {
  if (method !== 'tools/list' || !Array.isArray(value.tools)) return value
  const tools = value.tools.map(tool => {
    if (!isPlainObject(tool)) return tool
    const { execution: _, ...rest } = tool
    return rest
  })
  return { ...value, tools }
}
