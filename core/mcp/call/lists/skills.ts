import { LIMITS } from '../../../config/limits.ts'
import type { UpstreamReply, UpstreamRequest, Upstreams } from '../../../connections/api.ts'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { isPlainObject, parseExact } from '../../../domain/json/exact-json.ts'
import { scopeOf } from '../../../domain/session-scope.ts'
import { invalid } from '../../rpc/rpc.ts'
import { hasSkills } from '../../scope/capabilities.ts'
import { exposeUris, resourceTarget } from '../../scope/resource-targets.ts'
import type { Scope } from '../../scope/scope.ts'
import type { MemberState } from '../../scope/scope-types.ts'
import { userBinding } from '../../scope/user-binding.ts'
import type { Outcome } from '../exchange.ts'
import type { Forwarder, Routed } from '../forwarder.ts'
import type { Sealer } from '../pages.ts'
import type { MethodHandler } from '../router.ts'

const CURSOR_PURPOSE = 'mcp-skills-cursor'
const MAX_PAGE_CHARACTERS = 1_024 * 1_024
/** Most pages of members that are read for one page: a member may have any number of empty ones. */
const MAX_MEMBER_PAGES = 100

/** A member whose skills are not listed yet, and its own cursor. */
type Place = readonly [serverId: string, cursor?: string]

/** The skills extension: members' lists joined, and requests for one skill or directory sent to its member. */
export class Skills {
  readonly #upstreams: Upstreams
  readonly #forwarder: Forwarder
  readonly #sealer: Sealer

  constructor(upstreams: Upstreams, forwarder: Forwarder, sealer: Sealer) {
    this.#upstreams = upstreams
    this.#forwarder = forwarder
    this.#sealer = sealer
  }

  /** The handlers of its methods. */
  routes(): Readonly<Record<string, MethodHandler>> {
    const one: MethodHandler = (routed, params) => this.#one(routed, params)
    return {
      'skills/list': (routed, params) => this.#list(routed, params),
      'skills/get': one,
      'resources/directory/read': one,
    }
  }

  async #one(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    await membersWithSkills(routed)
    const uri = params?.uri
    if (typeof uri !== 'string') throw invalid(`${routed.exchange.method} needs "uri", the URI of a resource`)
    const target = resourceTarget(routed.scope, uri)
    const own = { original: target.original, uri }
    return this.#forwarder.forward(routed, target, { ...params, uri: target.original }, reply =>
      this.#forwarder.outcome(routed, target.member, reply, own),
    )
  }

  /** One page: at least one page of a member, at most 100 pages or about 1 MiB. In a group, a member that does not answer is left out. */
  async #list(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const { scope } = routed
    const members = await membersWithSkills(routed)
    const places = this.#places(scope, params?.cursor) ?? members.map(({ member }): Place => [member.server.id])
    const skills: JsonValue[] = []
    let characters = 0
    let read = 0
    const isFull = () => skills.length >= LIMITS.pageItems || characters >= MAX_PAGE_CHARACTERS
    for (; places.length > 0 && read < MAX_MEMBER_PAGES && !isFull(); read += 1) {
      const [serverId, cursor] = places.shift() as Place
      const state = members.find(({ member }) => member.server.id === serverId)
      if (!state) continue
      const reply = await this.#page(routed, state, cursor)
      if (reply.kind !== 'result') {
        if (members.length === 1) return this.#forwarder.outcome(routed, state.member, reply)
        continue
      }
      const text = String(exposeUris(scope, state.member, shownOf(scope, state, reply), undefined))
      const page = parseExact(text) as JsonObject
      characters += text.length
      skills.push(...(page.skills as JsonValue[]))
      if (typeof page.nextCursor === 'string' && page.nextCursor !== cursor) places.unshift([serverId, page.nextCursor])
    }
    const next = places.length === 0 ? {} : { nextCursor: this.#seal(scope, places) }
    return { kind: 'result', resultText: JSON.stringify({ skills, ...next }) }
  }

  #page({ exchange, scope }: Routed, { member }: MemberState, cursor: string | undefined): Promise<UpstreamReply> {
    const { id } = member.server
    const { side } = scope.face(id)
    const isPerUser = scopeOf(member.server) === 'per-user'
    const request: UpstreamRequest = {
      method: 'skills/list',
      params: cursor === undefined ? {} : { cursor },
      ...(side === 'older' ? { older: true } : {}),
      ...(isPerUser ? { session: userBinding(exchange.actor.userId, side) } : {}),
    }
    const call = this.#upstreams.request(id, request)
    exchange.cancel = reason => call.cancel(reason)
    return call.reply
  }

  #seal({ key }: Scope, places: readonly Place[]): string {
    return this.#sealer.sealToken(CURSOR_PURPOSE, JSON.stringify([key, places]))
  }

  /** Undefined without a cursor. Throws cursor_invalid. */
  #places({ key }: Scope, cursor: JsonValue | undefined): Place[] | undefined {
    if (cursor === undefined || cursor === null || cursor === '') return undefined
    const text = typeof cursor === 'string' ? this.#sealer.openToken(CURSOR_PURPOSE, cursor) : undefined
    const [ofScope, places] = typeof text === 'string' ? (JSON.parse(text) as [string, Place[]]) : []
    if (ofScope === key && places) return places
    throw new HubError(
      'cursor_invalid',
      'Cannot list skills: the cursor was not made by this hub for this list; start again without one',
    )
  }
}

/** Throws method_not_found where no member lists skills. */
async function membersWithSkills({ exchange, scope }: Routed): Promise<readonly MemberState[]> {
  await scope.ready()
  const members = scope.catalog.states.filter(state => state.listed && hasSkills(state))
  if (members.length > 0) return members
  throw new HubError('method_not_found', `There is no ${exchange.method} here: no server here has skills`)
}

/** The page of a member without skills that the group leaves out. */
function shownOf(scope: Scope, { member }: MemberState, reply: Extract<UpstreamReply, { kind: 'result' }>): string {
  const value = parseExact(String(reply.text))
  const page = isPlainObject(value) ? value : {}
  const all = Array.isArray(page.skills) ? page.skills : []
  const skills = all.filter(
    skill =>
      isPlainObject(skill) && typeof skill.uri === 'string' && scope.catalog.uris.allows(member.server.id, skill.uri),
  )
  return JSON.stringify({ ...page, skills })
}
