import { HubError } from '../../contract/errors.ts'
import type { Credential, GrantTarget, ServerRecord, UserActor } from '../../contract/records.ts'
import type { Era } from '../../domain/era.ts'
import { bothNames } from '../../domain/tools/tool-shape.ts'
import type { GroupResolver, ResolvedGroup } from '../../features/group-names.ts'
import { normalForm } from '../../transport-kit/normal-form.ts'
import { grantLost, pathNotFound } from './access-lost.ts'
import { aliases } from './naming.ts'
import type { HeadersFor } from './passed-headers.ts'
import { Scope, type ScopeParts } from './scope.ts'
import type { ResolvedScope } from './scope-types.ts'
import { signInPages } from './sign-ins.ts'

/** Most cached scopes without a session. */
const MAX_IDLE_SCOPES = 2_000
const MAX_PATHS = 2_000
/** The part of a user's idle scopes that is dropped at once. */
const DROPPED_AT_ONCE = 8

/** Path of POST messages of the legacy HTTP+SSE transport: the query names the session. */
export const MESSAGES_PATH = '/messages'
/** First path segment of event streams of the legacy HTTP+SSE transport. */
export const SSE_ROOT = '/sse'

/** Roots under which scopes are served: Streamable HTTP, and the event stream of the legacy HTTP+SSE transport. */
type ScopeRoot = 'mcp' | 'sse'

/** `/mcp…` or `/sse…` parsed. Empty `name`: all servers of the caller. */
interface ScopePath {
  readonly owner: string | undefined
  readonly name: string
  /** The word behind the `$` of a view, in lower case. */
  readonly view?: string
  /** The normal form of the path: the same for all its spellings. */
  readonly normal: string
}

/**
 * Undefined for a path that is not `/mcp`, `/mcp/{name}`, `/mcp/@{owner}/{name}`, or the same below `/sse`; a view such as
 * `$smart` may stand before the name and the owner.
 */
export function parseScopePath(path: string, under: ScopeRoot = 'mcp'): ScopePath | undefined {
  const [empty, root, ...encoded] = path.endsWith('/') ? path.slice(0, -1).split('/') : path.split('/')
  if (empty !== '' || root !== under) return undefined
  const segments: string[] = []
  for (const text of encoded) {
    const segment = decodeSegment(text)
    if (segment === undefined || segment === '') return undefined
    segments.push(segment)
  }
  const normal = ['/mcp', ...segments.map(foldSegment)].join('/')
  const view = segments[0]?.startsWith('$') ? segments.shift()?.slice(1).toLowerCase() : undefined
  const place = { ...(view === undefined ? {} : { view }), normal }
  const [first, second] = segments
  if (first === undefined) return { owner: undefined, name: '', ...place }
  const owner = first.startsWith('@') ? first.slice(1) : undefined
  const name = owner === undefined ? first : second
  const wanted = owner === undefined ? 1 : 2
  if (segments.length !== wanted || name === undefined || owner === '') return undefined
  return { owner, name, ...place }
}

function decodeSegment(text: string): string | undefined {
  try {
    return normalForm(decodeURIComponent(text), 'NFC')
  } catch {
    return undefined
  }
}

function foldSegment(segment: string): string {
  return encodeURIComponent(segment.toLowerCase())
}

/**
 * Keys of callers for sessions and scopes: the user, what the credential opens, and whether administrator's rights hold
 * at the caller's address, since scopes and sessions keep the rights with which they were opened.
 */
export class Principals {
  readonly #keys = new WeakMap<UserActor, string>()

  key(actor: UserActor): string {
    const known = this.#keys.get(actor)
    if (known !== undefined) return known
    const key = principalKey(actor)
    this.#keys.set(actor, key)
    return key
  }
}

/** The key of a caller, as {@link Principals} keeps it. */
export function principalKey({ userId, credential, restricted }: UserActor): string {
  return `${userId}|${opening(credential)}${restricted ? '|restricted' : ''}`
}

function opening(credential: Credential): string {
  if (credential.kind === 'grant') return `grant:${credential.grantId} ${credential.scopes.join(' ')}`
  if (credential.kind !== 'key' || credential.scopes.includes('mcp')) return '*'
  const parts: string[] = []
  for (const scope of credential.scopes) {
    if (typeof scope === 'string') continue
    parts.push('groupId' in scope ? `group:${scope.groupId}` : `server:${scope.serverId}`)
  }
  return parts.sort().join(',')
}

function opens(credential: Credential, resolved: ResolvedGroup): boolean {
  if (credential.kind === 'grant') return !credential.target || isTarget(credential.target, resolved)
  if (credential.kind !== 'key') return true
  return credential.scopes.some(scope => {
    if (typeof scope === 'string') return scope === 'mcp'
    if ('groupId' in scope) return resolved.kind !== 'all' && scope.groupId === resolved.group.id
    return resolved.kind === 'server' && resolved.servers.some(server => server.id === scope.serverId)
  })
}

function isTarget(target: GrantTarget, { kind, group, servers }: ResolvedGroup): boolean {
  if (target.kind !== kind) return false
  return target.kind === 'all' || (kind === 'group' ? group.id : servers[0]?.id) === target.id
}

/**
 * Throws `token_wrong_audience` for a token that a plugin issued for another address than this one. `base`: the hub's address;
 * `path`: below it, parsed.
 */
export function requireAddress({ credential }: UserActor, base: string, path: ScopePath, paths: ScopePaths): void {
  if (credential.kind !== 'grant') return
  const { resources } = credential
  const isHere = (resource: string) =>
    resource === base ||
    (resource.startsWith(`${base}/`) && paths.parse(resource.slice(base.length))?.normal === path.normal)
  if (!resources || resources.some(isHere)) return
  throw new HubError('token_wrong_audience', 'The token was made for another address than this one')
}

/** The members of a group with their aliases. `headers`: which of the caller's headers each server gets. */
export function toResolvedScope({ kind, group, servers }: ResolvedGroup, headers: HeadersFor): ResolvedScope {
  const choices = servers.map(server => {
    const choice = group.members.find(member => member.serverId === server.id)
    return {
      server,
      serverId: server.id,
      serverName: server.name,
      ...(choice?.alias === undefined ? {} : { alias: choice.alias }),
      former: {
        ...(choice?.formerPrefix === undefined ? {} : { formerPrefix: choice.formerPrefix }),
        ...(choice?.selectedBy === undefined ? {} : { selectedBy: choice.selectedBy }),
      },
      tools: choice?.tools ?? ('all' as const),
      prompts: bothNames(server.prompts, choice?.prompts),
      resources: bothNames(server.resources, choice?.resources),
    }
  })
  const names = aliases(choices)
  const members = choices.map(({ server, tools, prompts, resources, former }, index) => {
    const alias = names[index] ?? server.name
    return { server, alias, tools, prompts, resources, ...former, passedHeaders: headers(server) }
  })
  const passthroughHeaders = [...new Set(members.flatMap(member => member.passedHeaders))]
  return { kind: kind ?? 'group', group, members, passthroughHeaders }
}

/** A cache of parsed paths: most requests use few of them. */
export class ScopePaths {
  readonly #known = new Map<string, ScopePath>()

  /** Like `parseScopePath`. */
  parse(path: string): ScopePath | undefined {
    const known = this.#known.get(path)
    if (known) return known
    const parsed = parseScopePath(path)
    if (!parsed) return undefined
    if (this.#known.size >= MAX_PATHS) this.#known.clear()
    this.#known.set(path, parsed)
    return parsed
  }
}

interface Found {
  readonly path: ScopePath
  readonly scope: Scope
}

/** Looks up which headers of a caller are forwarded to which of these servers. */
type HeadersOf = (actor: UserActor, servers: readonly ServerRecord[]) => Promise<HeadersFor>

/** The scopes in use, one per caller, path and era of the client. */
export class ScopeTable {
  readonly #scopes = new Map<string, Scope>()
  /** The last scope of each principal, so that most requests need no key. Every entry is also in `#scopes`. */
  readonly #last = { legacy: new Map<string, Found>(), modern: new Map<string, Found>() }
  readonly #pending = new Map<string, Promise<Scope>>()
  readonly #resolver: () => GroupResolver | undefined
  readonly #parts: ScopeParts
  readonly #inUse: (scope: Scope) => boolean
  readonly #headersFor: HeadersOf
  #generation = 0

  constructor(
    resolver: () => GroupResolver | undefined,
    headersFor: HeadersOf,
    parts: ScopeParts,
    inUse: (scope: Scope) => boolean,
  ) {
    this.#resolver = resolver
    this.#headersFor = headersFor
    this.#parts = parts
    this.#inUse = inUse
  }

  /** Marks scopes as stale. A lookup in flight counts as stale too: it may have read the earlier state. */
  invalidate(affected: (scope: Scope) => boolean): void {
    this.#generation += 1
    for (const scope of this.#scopes.values()) if (affected(scope)) scope.stale = true
  }

  [Symbol.iterator](): IterableIterator<Scope> {
    return this.#scopes.values()
  }

  /** The scope of a path for a caller. Throws group_not_found: missing, foreign, or outside the key's scopes. */
  find(actor: UserActor, principal: string, path: ScopePath, era: Era): Scope | Promise<Scope> {
    const last = this.#last[era].get(principal)
    if (last?.path === path && !last.scope.stale) {
      last.scope.actor = actor
      return last.scope
    }
    const key = `${principal}|${path.normal}${era === 'legacy' ? '|legacy' : ''}`
    const scope = this.#scopes.get(key)
    if (!scope) return this.#once(key, () => this.#open(key, actor, path, era))
    scope.actor = actor
    if (scope.stale) return this.#once(key, () => this.refresh(scope))
    this.#last[era].set(principal, { path, scope })
    return scope
  }

  /** The same for a caller inside the hub, which is of no era: each server is used in its default one. */
  findInner(actor: UserActor, principal: string, path: ScopePath): Scope | Promise<Scope> {
    const key = `${principal}|${path.normal}|inner`
    const scope = this.#scopes.get(key)
    if (!scope) return this.#once(key, () => this.#open(key, actor, path, undefined))
    scope.actor = actor
    return scope.stale ? this.#once(key, () => this.refresh(scope)) : scope
  }

  /** Like `refresh`, with one lookup for all concurrent callers. */
  settle(scope: Scope): Promise<Scope> {
    return this.#once(scope.key, () => this.refresh(scope))
  }

  /** Resolves the scope again. Throws group_not_found when the path resolves to nothing; the scope is gone then. */
  async refresh(scope: Scope): Promise<Scope> {
    const generation = this.#generation
    const path = parseScopePath(scope.path)
    const resolved = path && (await this.#resolve(scope.actor, path))
    if (!path || !resolved) {
      scope.gone = true
      this.#scopes.delete(scope.key)
      this.#clearLast()
      throw this.#absent(scope.actor, path)
    }
    scope.replace(resolved)
    scope.stale = generation !== this.#generation
    return scope
  }

  /** The scope of a group for this caller outside any session. */
  unbound(actor: UserActor, resolved: ResolvedScope): Scope {
    return new Scope('', '', { actor }, resolved, this.#parts)
  }

  async #open(key: string, actor: UserActor, path: ScopePath, caller: Era | undefined): Promise<Scope> {
    const generation = this.#generation
    const resolved = await this.#resolve(actor, path)
    if (!resolved) throw this.#absent(actor, path)
    const scope = new Scope(key, path.normal, { actor, caller }, resolved, this.#parts)
    scope.stale = generation !== this.#generation
    this.#scopes.set(key, scope)
    // Must be known before `initialize` declares capabilities, which cannot be withdrawn.
    await scope.awaitFaces()
    if (this.#scopes.size > MAX_IDLE_SCOPES) this.#dropIdle()
    return scope
  }

  async #resolve(actor: UserActor, path: ScopePath): Promise<ResolvedScope | undefined> {
    const resolver = this.#resolver()
    if (!resolver)
      throw new HubError('starting', 'Cannot look up a group: the plugin that resolves groups is not running', {
        retryAfterSeconds: 5,
      })
    const { view } = path
    if (view !== undefined && !this.#parts.toolSets.hasView(view)) return undefined
    const found = await resolver.resolve(actor, path.owner, path.name)
    if (!found || !opens(actor.credential, found)) return undefined
    const resolved = toResolvedScope(found, await this.#headersFor(actor, found.servers))
    const signIns = await signInPages(this.#parts.upstreams, actor.userId, resolved.members)
    return {
      ...resolved,
      ...(signIns.size > 0 ? { signIns } : {}),
      ...(view === undefined ? {} : { view }),
    }
  }

  #absent({ credential }: UserActor, path: ScopePath | undefined): HubError {
    const isView = path?.view === undefined || this.#parts.toolSets.hasView(path.view)
    return credential.kind === 'grant' && isView ? grantLost() : pathNotFound(path)
  }

  #once(key: string, work: () => Promise<Scope>): Promise<Scope> {
    const running = this.#pending.get(key)
    if (running) return running
    const promise = work().finally(() => this.#pending.delete(key))
    this.#pending.set(key, promise)
    return promise
  }

  #clearLast(): void {
    this.#last.legacy.clear()
    this.#last.modern.clear()
  }

  /** The user with most idle scopes loses the oldest first; a scope with a session stays. */
  #dropIdle(): void {
    this.#clearLast()
    const idle = new Map<string, string[]>()
    for (const [key, scope] of this.#scopes) {
      if (this.#inUse(scope)) continue
      const own = idle.get(scope.actor.userId)
      if (own) own.push(key)
      else idle.set(scope.actor.userId, [key])
    }
    const owners = [...idle.values()].map(keys => keys.reverse())
    while (this.#scopes.size > MAX_IDLE_SCOPES) {
      const most = owners.reduce((one, other) => (other.length > one.length ? other : one), [] as string[])
      // A part at a time: whoever opens scopes without end would make each of them cost this.
      const dropped = most.splice(-Math.ceil(most.length / DROPPED_AT_ONCE))
      if (dropped.length === 0) return
      for (const key of dropped) this.#scopes.delete(key)
    }
  }
}
