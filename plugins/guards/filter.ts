import { HubError, type JsonObject, type PluginContext } from 'patchbay/contract'
import type { ContentFilter, FilteredRequest, FilteredText, OpenFilter, ReceivedKind } from 'patchbay/features'
import { fitsGlob, hasAnyTag } from 'patchbay/plugin-kit'
import { withChanges } from './change.ts'
import { type Checked, check } from './check/check.ts'
import { type CheckedRule, type Compiled, compile } from './check/compile.ts'
import { parseWritten } from './check/json.ts'
import { CheckQueue, type CheckThread } from './check/queue.ts'
import { inspect } from './check/spots.ts'
import { ERRORS } from './errors.ts'
import type { Findings } from './findings.ts'
import { checkedRule, type Rule } from './rules.ts'
import type { Place } from './types.ts'
import { type WebhookAnswer, Webhooks } from './webhook.ts'

/** Characters of the text times the rules, above which a check runs in a thread. */
const INLINE_CHARACTERS = 32 * 1024
/** The same for a text that one rule looks at. */
const INLINE_TEXT = 16 * 1024
/** Characters of the text times those of the patterns, above which a check runs in a thread. */
const INLINE_WORK = 1_000_000

/** In the place of a line of a log that would take long to check. */
const UNCHECKED = '(left out: too long for the content rules of this server)'

type Direction = 'arguments' | 'result'

/** A rule that applies to a request. */
interface Applied {
  readonly place: Place
  readonly rule: Rule
  readonly checked: CheckedRule | undefined
  readonly compiled: Compiled | undefined
}

/** The places whose rules apply to a request. */
export interface Places {
  of(serverId: string, groupId: string | undefined): readonly Place[]
}

export type GuardContext = Pick<PluginContext<unknown>, 'fetch' | 'fetchFor' | 'signal' | 'metrics'>

/** The contribution: finds the rules of a request, which all apply; the strictest one decides. */
export class Guards implements ContentFilter {
  readonly #places: Places
  readonly #compiled = new WeakMap<Place, readonly Applied[]>()
  readonly parts: {
    readonly context: GuardContext
    readonly findings: Findings
    readonly queue: CheckQueue
    readonly webhooks: Webhooks
    /** True when webhooks have their owner's present rights, and not those of an ordinary user. */
    readonly hasOwnersReach: (place: Place) => boolean
  }

  constructor(
    context: GuardContext,
    places: Places,
    findings: Findings,
    open: () => CheckThread,
    hasOwnersReach: (place: Place) => boolean,
  ) {
    this.#places = places
    this.parts = { context, findings, queue: new CheckQueue(open), webhooks: new Webhooks(), hasOwnersReach }
  }

  open(request: FilteredRequest): OpenFilter | undefined {
    const places = this.#places.of(request.server.id, request.group?.id)
    if (places.length === 0) return undefined
    const { server, group } = request
    const tool = request.method === 'tools/call' ? request.item : undefined
    const present = [...(group?.tags ?? []), ...(server.tags ?? [])]
    const applied = places
      .flatMap(place => this.#rulesOf(place))
      .filter(
        ({ rule: { tools } }) => tools === undefined || tool === undefined || tools.some(one => fitsGlob(one, tool)),
      )
      .filter(({ rule: { tags } }) => tags === undefined || hasAnyTag(present, tags))
    return applied.length === 0 ? undefined : new GuardedRequest(this.parts, request, applied)
  }

  /** A line of a server's log: what a rule masks or refuses in results is masked in it. */
  logged(server: FilteredRequest['server'], text: string): string {
    const places = this.#places.of(server.id, undefined)
    if (places.length === 0) return text
    const rules = places
      .flatMap(place => this.#rulesOf(place))
      .filter(({ rule, compiled }) => compiled && rule.on !== 'arguments' && rule.then !== 'observe')
      .filter(({ rule: { tags } }) => tags === undefined || hasAnyTag(server.tags ?? [], tags))
    if (rules.length === 0) return text
    if (!isShort(text.length, rules)) return UNCHECKED
    const masking = rules.flatMap(({ compiled }) => (compiled ? [{ ...compiled, then: 'mask' as const }] : []))
    return inspect(text, masking, { of: ({ values }) => values }).masked ?? text
  }

  #rulesOf(place: Place): readonly Applied[] {
    const known = this.#compiled.get(place)
    if (known) return known
    const applied = place.rules.map(rule => {
      const checked = checkedRule(place.key, rule)
      return { place, rule, checked, compiled: checked && compile(checked) }
    })
    this.#compiled.set(place, applied)
    return applied
  }
}

/** One request, and the rules that apply to it. */
class GuardedRequest implements OpenFilter {
  readonly #parts: Guards['parts']
  readonly #request: FilteredRequest
  readonly #applied: readonly Applied[]

  constructor(parts: Guards['parts'], request: FilteredRequest, applied: readonly Applied[]) {
    this.#parts = parts
    this.#request = request
    this.#applied = applied
  }

  async sent(params: JsonObject): Promise<JsonObject> {
    const changed = await this.#whole('arguments', JSON.stringify(params), true)
    return changed === undefined ? params : (parseWritten(changed) as JsonObject)
  }

  received(kind: ReceivedKind, text: FilteredText): Promise<string | undefined> {
    return this.#whole('result', text, kind === 'result')
  }

  isSame(other: OpenFilter): boolean {
    if (!(other instanceof GuardedRequest) || other.#applied.length !== this.#applied.length) return false
    return this.#applied.every((one, index) => one === other.#applied[index])
  }

  /** Rules, then webhooks, whose changes go through the rules again. */
  async #whole(on: Direction, text: FilteredText, usesWebhooks: boolean): Promise<string | undefined> {
    const applied = this.#applied.filter(({ rule }) => rule.on === 'both' || rule.on === on)
    let changed = await this.#checked(on, applied, text)
    for (const one of usesWebhooks ? applied : []) {
      const answered = one.rule.webhook && (await this.#asked(on, one, one.rule.webhook, changed ?? textOf(text)))
      if (answered !== undefined) changed = (await this.#checked(on, applied, answered)) ?? answered
    }
    return changed
  }

  async #checked(on: Direction, applied: readonly Applied[], text: FilteredText): Promise<string | undefined> {
    const rules = applied.filter(({ checked }) => checked !== undefined)
    if (rules.length === 0) return undefined
    const { findings, refusedBy, changed } = await this.#run(rules, text)
    let isRefused: Applied | undefined
    for (const [index, found] of Object.entries(findings)) {
      const one = rules[Number(index)]
      if (one) this.#note(on, one, ACTIONS[one.rule.then], found.samples)
    }
    if (refusedBy !== undefined) isRefused = rules[refusedBy]
    if (isRefused) {
      const [sample] = findings[refusedBy ?? -1]?.samples ?? []
      throw this.#refusal(on, isRefused, sample ? `has ${sample.kind} at ${sample.path}` : 'is refused')
    }
    return changed
  }

  async #run(rules: readonly Applied[], text: FilteredText): Promise<Checked> {
    const length = typeof text === 'string' ? text.length : text.byteLength
    if (isShort(length, rules))
      return check(
        textOf(text),
        rules.flatMap(({ compiled }) => compiled ?? []),
      )
    const request = {
      rules: rules.flatMap(({ checked }) => checked ?? []),
      text: typeof text === 'string' ? text : text.parts,
    }
    try {
      return await this.#parts.queue.check({ owner: this.#owner, caller: this.#request.actor.userId }, request, length)
    } catch (error) {
      for (const one of rules) this.#note('result', one, 'failed', [])
      if (rules.every(({ rule }) => rule.then === 'observe')) return { findings: {} }
      throw error
    }
  }

  /** The owner of the rules that cost most: those of a group are not the work of the server's owner. */
  get #owner(): string {
    const { group, server } = this.#request
    const ofGroup = group && this.#applied.some(({ place }) => place.key === `group ${group.id}`)
    return ofGroup ? group.ownerId : server.ownerId
  }

  /** The content that a webhook makes of a text; undefined: unchanged. */
  async #asked(
    on: Direction,
    one: Applied,
    webhook: NonNullable<Rule['webhook']>,
    text: string,
  ): Promise<string | undefined> {
    const isObserving = one.rule.then === 'observe'
    const answer = await this.#answerOf(on, one, webhook, text)
    const changed = answer?.action === 'change' ? this.#changed(on, one.place, text, answer.value) : undefined
    if (answer === undefined || (answer.action === 'change' && changed === undefined)) {
      this.#note(on, one, 'failed', [])
      if (isObserving || webhook.onFailure === 'open') return undefined
      throw this.#refusal(on, one, 'could not be looked at by its webhook')
    }
    if (answer.action === 'pass') return undefined
    const action = isObserving ? 'observed' : answer.action === 'refuse' ? 'refused' : 'masked'
    this.#note(on, one, action, [{ path: '', kind: 'webhook', length: 0 }])
    if (isObserving) return undefined
    if (answer.action === 'change') return changed
    throw this.#refusal(on, one, answer.reason === '' ? 'is refused by its webhook' : `is refused: ${answer.reason}`)
  }

  /** The content with a webhook's changes; undefined when it may not make them, or has not kept the form of the content. */
  #changed(on: Direction, place: Place, text: string, value: JsonObject): string | undefined {
    // A change could replace pinned values of the server: only those who may set rules for it may change arguments.
    const mayChange = on === 'result' || !place.key.startsWith('group') || this.#isOfServersOwner
    const merged = mayChange ? withChanges(on, parseWritten(text) as JsonObject, value) : undefined
    return merged && JSON.stringify(merged)
  }

  get #isOfServersOwner(): boolean {
    const { server, group } = this.#request
    return group?.ownerId === server.ownerId
  }

  /** Undefined when the webhook fails: the reason may quote its address, which is not for callers. */
  async #answerOf(
    on: Direction,
    { place, rule }: Applied,
    webhook: NonNullable<Rule['webhook']>,
    text: string,
  ): Promise<WebhookAnswer | undefined> {
    const { webhooks, context } = this.#parts
    const { server, group, method, item, actor, withOwnCredential } = this.#request
    const ofGroup = place.key.startsWith('group') ? group?.ownerId : undefined
    const owner = place.key === 'hub' ? '' : (ofGroup ?? server.ownerId)
    // A webhook shows and changes only what its owner could see and change anyway.
    const isOwn = owner === '' || owner === actor.userId || (owner === server.ownerId && !withOwnCredential)
    // The former owner of a server or group chose its address: it is asked again when the present one has saved the rules.
    if (!isOwn || (place.webhooksOf !== undefined && place.webhooksOf !== owner)) return undefined
    const fetch =
      owner === '' ? context.fetch : context.fetchFor(owner, this.#parts.hasOwnersReach(place) ? undefined : 'user')
    const question = {
      ...{ rule: rule.id, on, method, server: server.name, user: actor.name },
      ...(group ? { group: group.name } : {}),
      ...(item === undefined ? {} : { tool: item }),
    }
    try {
      const turn = `${owner} ${actor.userId}`
      return await webhooks.ask(webhook, { turn, fetch, signal: context.signal }, question, text)
    } catch {
      return undefined
    }
  }

  #note(
    on: Direction,
    { place, rule }: Applied,
    action: (typeof ACTIONS)[Rule['then']] | 'failed',
    samples: Checked['findings'][number]['samples'],
  ): void {
    const { findings, context } = this.#parts
    const { server, item, method } = this.#request
    // A URI may have secrets in it.
    const tool = method === 'resources/read' ? undefined : item?.slice(0, 128)
    const where = { on, server: server.name, ...(tool === undefined ? {} : { tool }) }
    findings.add(
      place.key,
      rule.id,
      action,
      samples.map(sample => ({ ...sample, ...where })),
    )
    context.metrics.count('guard_actions', 1, { action })
  }

  #refusal(on: Direction, { place, rule }: Applied, why: string): HubError {
    const { server, group, method } = this.#request
    const whose =
      place.key === 'hub'
        ? 'the hub'
        : place.key.startsWith('group')
          ? `the group "${group?.name}"`
          : `the server "${server.name}"`
    const what = on === 'arguments' ? 'what was sent' : 'what the server answered'
    const acted = on === 'result' && method === 'tools/call' ? '. The tool may have acted' : ''
    return new HubError('guard_refused', `The rule "${rule.id}" of ${whose} refuses this: ${what} ${why}${acted}`, {
      own: ERRORS.guard_refused,
      data: { rule: rule.id },
    })
  }
}

/** True for work of a few milliseconds at most. */
function isShort(length: number, rules: readonly Applied[]): boolean {
  const patterns = rules.flatMap(({ checked }) => checked?.match.pattern ?? [])
  const characters = patterns.reduce((sum, pattern) => sum + pattern.length, 0)
  return length <= INLINE_TEXT && length * rules.length <= INLINE_CHARACTERS && length * characters <= INLINE_WORK
}

const ACTIONS = { observe: 'observed', mask: 'masked', refuse: 'refused' } as const

function textOf(text: FilteredText): string {
  return typeof text === 'string' ? text : Buffer.concat(text.parts).toString()
}
