import type { Caching } from '../../connections/api.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { type CacheHint, cacheHint, narrower, remaining } from '../../domain/cache-hint.ts'
import { MODERN_VERSION, SERVER_INFO_KEY } from '../../domain/era.ts'
import { type JsonText, LongText } from '../../domain/json/long-text.ts'
import { LIST_KINDS, LISTS } from '../../domain/mcp-methods.ts'
import { scopeOf } from '../../domain/session-scope.ts'
import { TASKS_EXTENSION, withExtension } from '../../domain/tools/extensions.ts'
import { passesTasks } from '../call/tasks/extension-tasks.ts'
import { isPlainObject, parseExact } from '../rpc/rpc.ts'
import { memberHas, mergeCapabilities, mergedInstructions, mergedServerInfo } from '../scope/capabilities.ts'
import { leftOutWarnings } from '../scope/group-warnings.ts'
import type { MergedCatalog } from '../scope/merge.ts'
import type { Scope } from '../scope/scope.ts'
import type { MemberState, ResolvedScope } from '../scope/scope-types.ts'

/** For results of which nothing is known. */
const NOT_KEPT: CacheHint = { ttlMs: 0, cacheScope: 'private' }
/**
 * Longest lifetime of the hub's own lists. The hub learns of every change and notifies whoever listens; a client that does not
 * listen sees a change after this time at the latest.
 */
const LISTS_MS = 60_000

/** Results merged from all members, with the part of the members' cache hints that applies. */
const MERGED: readonly (readonly [method: string, part: keyof Caching])[] = [
  ['server/discover', 'discover'],
  ...LIST_KINDS.map(kind => [LISTS[kind].method, kind] as const),
]
/** Methods whose results carry cache hints. */
const CACHEABLE: ReadonlySet<string> = new Set([
  ...MERGED.map(([method]) => method),
  ...['resources/read', 'skills/list', 'skills/get'],
])
const LIST = /\/list$/

/** A scope in the modern era's form, valid as long as its catalogue stays the same. */
export class ScopePresenter {
  readonly capabilities: { [name: string]: JsonValue }
  readonly #serverInfo: JsonObject
  readonly #instructions: string | undefined
  readonly #head: string
  /** The cache hints of cacheable results, by method. */
  readonly #caching: ReadonlyMap<string, () => CacheHint>
  /** True when all callers see the same here. */
  readonly #forAll: boolean
  /** By method, the last list text and its modern form, cached because lists rarely change. */
  readonly #lists = new Map<string, { readonly from: string; readonly hint: CacheHint; readonly to: string }>()

  constructor(scope: Scope, version: string) {
    const { resolved, catalog } = scope
    const merged = mergeCapabilities(resolved, catalog)
    this.capabilities = passesTasks(scope) ? withExtension(merged, TASKS_EXTENSION) : merged
    // Experimental features belong to one era, and every upstream that has them so far is legacy.
    delete this.capabilities.experimental
    this.#serverInfo = mergedServerInfo(resolved, catalog.states, version)
    this.#instructions = mergedInstructions(resolved, catalog, leftOutWarnings(catalog.leftOut))
    const meta = `"_meta":${JSON.stringify({ [SERVER_INFO_KEY]: this.#serverInfo })}`
    this.#head = `{"resultType":"complete",${meta}`
    this.#forAll = isForAll(resolved, catalog) && !scope.variesByClient
    this.#caching = new Map(MERGED.map(([method, part]) => [method, () => hintOf(catalog, part, this.#forAll)]))
  }

  /** The result of `server/discover`. */
  discover(): string {
    const instructions = this.#instructions
    return this.result('server/discover', {
      supportedVersions: [MODERN_VERSION],
      capabilities: this.capabilities,
      ...(instructions === undefined ? {} : { instructions }),
    })
  }

  /** A result of the hub itself. `final`: it is the method's result, not `input_required`. */
  result(method: string, value: JsonObject, final = true): string {
    return JSON.stringify({
      resultType: 'complete',
      ...(final ? this.#hint(method) : {}),
      ...value,
      _meta: this.#meta(value._meta),
    })
  }

  /**
   * A result text in the modern era's form; undefined when it has no valid shape. `keepable`: the cache hints in the
   * text apply, which is so for `resources/read` alone.
   */
  shape(method: string, text: JsonText, keepable = false): JsonText | undefined {
    if (typeof text !== 'string') return this.#shapeLong(method, text, keepable)
    if (!LIST.test(method)) return this.#shape(method, text, keepable)
    const known = this.#lists.get(method)
    const hint = this.#hint(method) ?? NOT_KEPT
    const isSame = known?.from === text && known.hint.ttlMs === hint.ttlMs && known.hint.cacheScope === hint.cacheScope
    if (known && isSame) return known.to
    const to = this.#shape(method, text, false, hint)
    if (to !== undefined) this.#lists.set(method, { from: text, hint, to })
    return to
  }

  #shape(method: string, text: string, keepable = false, hint = this.#hint(method)): string | undefined {
    // Most results have none of the members that are written here, so their text is kept.
    const plain =
      text.startsWith('{"') &&
      !text.includes('"_meta"') &&
      !text.includes('"resultType"') &&
      !(hint && /"(?:ttlMs|cacheScope|execution)"/.test(text))
    if (plain) return `${this.#headWith(hint)}${text.slice(1)}`
    const value = parseExact(text)
    if (!isPlainObject(value)) return undefined
    if (value.resultType !== undefined && value.resultType !== 'complete') return undefined
    const own = keepable ? this.#ownHint(value) : hint
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

  /** The beginning of the text, up to the upstream's first member. */
  #headWith(hint: CacheHint | undefined): string {
    const kept = hint ? `,"ttlMs":${hint.ttlMs},"cacheScope":"${hint.cacheScope}"` : ''
    return `${this.#head}${kept},`
  }

  #ownHint(value: JsonObject): CacheHint {
    const hint = cacheHint(value)
    return this.#forAll ? hint : { ...hint, cacheScope: 'private' }
  }

  /** Undefined for methods without cache hints. */
  #hint(method: string): CacheHint | undefined {
    return CACHEABLE.has(method) ? (this.#caching.get(method)?.() ?? NOT_KEPT) : undefined
  }

  #meta(own: JsonValue | undefined): JsonObject {
    return { ...(isPlainObject(own) ? own : {}), [SERVER_INFO_KEY]: this.#serverInfo }
  }
}

/** Tools of plugins may differ with the caller. */
function isForAll({ kind, group, members }: ResolvedScope, { added }: MergedCatalog): boolean {
  return (
    added.items.length === 0 &&
    kind !== 'all' &&
    group.visibility === 'public' &&
    members.every(({ server }) => server.visibility === 'public')
  )
}

/** The shortest lifetime of any member; `public` only where every member allows it and all callers see the same. */
function hintOf({ states }: MergedCatalog, part: keyof Caching, isForAll: boolean): CacheHint {
  const nowMs = Date.now()
  const own: CacheHint = { ttlMs: LISTS_MS, cacheScope: isForAll ? 'public' : 'private' }
  return states.map(state => memberHint(state, part, nowMs)).reduce(narrower, own)
}

/**
 * Returns the time for which a member's part may be kept. A server of 2026-07-28 gives it: it is counted from the time at which
 * the hub read the part, unless the server notifies the hub of changes. Lists of earlier servers change here when the hub reads
 * them again.
 */
function memberHint({ catalog, member: { server } }: MemberState, part: keyof Caching, nowMs: number): CacheHint {
  // The lists of a member that was never connected are not known.
  if (!catalog) return NOT_KEPT
  if (!catalog.caching) return { ttlMs: LISTS_MS, cacheScope: isOneForAll(server) ? 'public' : 'private' }
  const hint = catalog.caching[part]
  if (!hint) return NOT_KEPT
  const isTold = part !== 'discover' && memberHas({ catalog }, LISTS[part].capability, 'listChanged')
  return isTold ? hint : remaining(hint, nowMs)
}

/** False for a server whose answers may depend on who asks. */
function isOneForAll(server: MemberState['member']['server']): boolean {
  const session = scopeOf(server)
  return server.passthroughHeaders.length === 0 && session !== 'per-user' && session !== 'per-session'
}

/** The presenters of all scopes in use. */
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
    const presenter = new ScopePresenter(scope, this.#version)
    this.#byCatalog.set(catalog, presenter)
    return presenter
  }
}

/** Tasks are not part of the modern core; what legacy tools say about them has another meaning there. */
function withoutTasks(method: string, value: JsonObject): JsonObject {
  if (method !== LISTS.tools.method || !Array.isArray(value.tools)) return value
  const tools = value.tools.map(tool => {
    if (!isPlainObject(tool)) return tool
    const { execution: _, ...rest } = tool
    return rest
  })
  return { ...value, tools }
}
