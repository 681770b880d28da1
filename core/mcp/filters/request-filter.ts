import type { AskClient, AskReply, UpstreamCall, UpstreamReply, UpstreamRequest } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { GroupRecord, ServerRecord } from '../../contract/records.ts'
import { parseAsWritten } from '../../domain/json/exact-json.ts'
import { freeText } from '../../domain/json/long-text.ts'
import { asksCallers } from '../../domain/session-scope.ts'
import type { ContentFilter, FilteredRequest, FilteredText, OpenFilter, ReceivedKind } from '../../features/filters.ts'
import { rpcError } from '../rpc/rpc.ts'
import type { Scope } from '../scope/scope.ts'

/** Methods whose refusal is a failed tool, so that a model reads it. */
const OF_TOOLS: ReadonlySet<string> = new Set(['tools/call', 'tasks/result'])
const CANCELLED: UpstreamReply = { kind: 'cancelled' }

interface Named {
  readonly plugin: string
  readonly filter: OpenFilter
}

/** The filters that look at a request; undefined for most requests. */
export function filtersOf(
  filters: ReadonlyMap<string, ContentFilter>,
  request: () => FilteredRequest,
): RequestFilters | undefined {
  if (filters.size === 0) return undefined
  const found: Named[] = []
  const content = request()
  for (const [plugin, contribution] of filters) {
    const filter = contribution.open(content)
    if (filter) found.push({ plugin, filter })
  }
  return found.length === 0 ? undefined : new RequestFilters(found)
}

/** A request at the path of a scope, as filters see it. */
export function filteredRequest(
  { resolved: { kind, group } }: Pick<Scope, 'resolved'>,
  server: ServerRecord,
  { method, actor }: Pick<FilteredRequest, 'method' | 'actor'>,
  item?: string,
): FilteredRequest {
  return {
    ...{ method, actor, server: described(server) },
    ...(kind === 'group' ? { group: described(group) } : {}),
    ...(asksCallers(server) && actor.userId !== server.ownerId ? { withOwnCredential: true } : {}),
    ...(item === undefined ? {} : { item }),
  }
}

function described<Thing extends ServerRecord | GroupRecord>({ id, name, ownerId, tags }: Thing) {
  return { id, name, ownerId, ...(tags === undefined ? {} : { tags }) }
}

/** Refusal by a filter. */
class Refused extends Error {
  readonly plugin: string
  readonly error: HubError

  constructor(plugin: string, error: HubError) {
    super(error.message, { cause: error })
    this.plugin = plugin
    this.error = error
  }
}

/** The parameters of a request that its filters have looked at before it is sent. `refused`: why it must not be. */
export type PassedParams = { readonly filters: RequestFilters } & (
  | { readonly params: JsonObject }
  | { readonly refused: unknown }
)

/** Sends the requests of one call, with everything that passes in both directions through its filters. */
export class RequestFilters {
  readonly filters: readonly Named[]

  constructor(filters: readonly Named[]) {
    this.filters = filters
  }

  /** Looks at parameters before `begin` does. */
  async pass(params: JsonObject): Promise<PassedParams> {
    try {
      return { filters: this, params: await this.#sent(params) }
    } catch (refused) {
      return { filters: this, refused }
    }
  }

  /** True when the same filters would look at the request in the same way. */
  isSame({ filters }: RequestFilters): boolean {
    const others = new Map(filters.map(({ plugin, filter }) => [plugin, filter]))
    if (others.size !== this.filters.length) return false
    return this.filters.every(({ plugin, filter }) => {
      const other = others.get(plugin)
      return other !== undefined && filter.isSame?.(other) === true
    })
  }

  /**
   * `send` is called when the parameters have passed. Cancelling before that keeps the request from being sent. `passed`: the
   * outcome for parameters that have passed already.
   */
  begin(
    request: UpstreamRequest,
    send: (request: UpstreamRequest) => UpstreamCall,
    passed?: PassedParams,
  ): UpstreamCall {
    let isCancelled = false
    let call: UpstreamCall | undefined
    const run = async (): Promise<UpstreamReply> => {
      if (passed && 'refused' in passed) throw passed.refused
      const params = passed || !request.params ? request.params : await this.#sent(request.params)
      const modern = request.modern && (await this.#answersSent(request.modern))
      if (isCancelled) return CANCELLED
      const notices = new InOrder()
      call = send({ ...request, params, ...(modern ? { modern } : {}), ...this.#callbacks(request, notices) })
      const reply = await call.reply
      await notices.done()
      return this.#received(reply)
    }
    return {
      reply: run().catch(error => refusal(request.method, error, call !== undefined)),
      cancel(reason) {
        isCancelled = true
        call?.cancel(reason)
      },
    }
  }

  async #sent(params: JsonObject): Promise<JsonObject> {
    let passed = params
    for (const { plugin, filter } of this.filters) passed = await within(plugin, () => filter.sent(passed))
    return passed
  }

  /** A modern client sends its answers to a server's questions beside the parameters. */
  async #answersSent(modern: NonNullable<UpstreamRequest['modern']>): Promise<typeof modern> {
    if (modern.inputResponses === undefined) return modern
    const { inputResponses = null } = await this.#sent({ inputResponses: modern.inputResponses })
    return { ...modern, inputResponses }
  }

  /** A notification that belongs to no call. Rejects when it is refused. */
  async notice(params: JsonObject | undefined): Promise<JsonObject | undefined> {
    return params && (await this.#readValue('notification', params))
  }

  /** The text after all filters; undefined: unchanged. */
  async #read(kind: ReceivedKind, text: FilteredText): Promise<string | undefined> {
    let changed: string | undefined
    for (const { plugin, filter } of this.filters)
      changed = (await within(plugin, () => filter.received(kind, changed ?? text))) ?? changed
    return changed
  }

  async #readValue<T extends JsonValue>(kind: ReceivedKind, value: T): Promise<T> {
    const changed = await this.#read(kind, JSON.stringify(value))
    return changed === undefined ? value : (parseAsWritten(changed) as T)
  }

  async #received(reply: UpstreamReply): Promise<UpstreamReply> {
    switch (reply.kind) {
      case 'result': {
        const text = await this.#read('result', reply.text)
        if (text === undefined) return reply
        freeText(reply.text)
        return { ...reply, text }
      }
      case 'input_required':
      case 'task': {
        const text = await this.#read('result', reply.text)
        return text === undefined ? reply : { ...reply, text }
      }
      case 'error': {
        const { code, message, data } = reply.error
        const error = await this.#readValue('error', { message, ...(data === undefined ? {} : { data }) })
        return { kind: 'error', error: { code, ...error } }
      }
      case 'failed': {
        const { message } = await this.#readValue('error', { message: reply.message })
        return { ...reply, message }
      }
      case 'cancelled':
        return reply
    }
  }

  /** Callbacks for messages that the server sends before its response, in its order. */
  #callbacks({ notification, progress, ask }: UpstreamRequest, notices: InOrder): Partial<UpstreamRequest> {
    return {
      ...(notification
        ? {
            notification: (method, params) =>
              notices.add(async () => notification(method, params && (await this.#readValue('notification', params)))),
          }
        : {}),
      ...(progress
        ? { progress: params => notices.add(async () => progress(await this.#readValue('notification', params))) }
        : {}),
      ...(ask ? { ask: (method, params, signal) => this.#ask(ask, method, params, signal) } : {}),
    }
  }

  async #ask(ask: AskClient, method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<AskReply> {
    try {
      const reply = await ask(method, params && (await this.#readValue('question', params)), signal)
      if (!('result' in reply) || !isJsonObject(reply.result)) return reply
      return { result: await this.#sent(reply.result) }
    } catch (error) {
      return { error: errorOf(error) }
    }
  }
}

/** Runs pieces of work one after the other; one that fails is left out. */
class InOrder {
  #last: Promise<void> = Promise.resolve()

  add(work: () => Promise<void>): void {
    this.#last = this.#last.then(work).catch(() => undefined)
  }

  done(): Promise<void> {
    return this.#last
  }
}

async function within<T>(plugin: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof HubError) throw new Refused(plugin, error)
    throw new Refused(
      plugin,
      new HubError('internal', `The plugin "${plugin}" failed, so this was refused`, { cause: error }),
    )
  }
}

/** A refused call of a tool is a failed one, which models read; a refused request of another kind is an error. */
function refusal(method: string, thrown: unknown, isSent: boolean): UpstreamReply {
  if (!(thrown instanceof Refused)) throw thrown
  const { plugin, error } = thrown
  if (!OF_TOOLS.has(method)) return { kind: 'error', error: errorOf(thrown) }
  const text = `${error.code}: ${error.message}`
  return {
    kind: 'result',
    text: JSON.stringify({ content: [{ type: 'text', text }], isError: true }),
    isError: true,
    refused: { plugin, code: error.code, ...(isSent || method !== 'tools/call' ? {} : { unsent: true }) },
  }
}

function errorOf(thrown: unknown): { code: number; message: string; data: JsonValue } {
  if (!(thrown instanceof Refused)) throw thrown
  const { code, message } = rpcError(thrown.error, '')
  return { code, message: `${thrown.error.code}: ${message}`, data: { code: thrown.error.code } }
}
