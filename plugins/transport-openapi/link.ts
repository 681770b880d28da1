import { type GuardedResponse, HubError } from 'patchbay/contract'
import {
  type AnswerCall,
  type AnswerIo,
  type AnswerLink,
  type AnswerResult,
  fetchFollowing,
  isMissingPath,
  withoutEnd,
} from 'patchbay/transport-kit'
import { addProofs, type CallPlan, type Placed, placeArguments } from './call-plan.ts'
import { buildCatalog, type Catalog } from './catalog.ts'
import type { OpenapiConfig } from './config.ts'
import { readDocument } from './read-document.ts'
import { resultOf } from './results.ts'
import { type TokenPlace, Tokens } from './tokens.ts'

/** Most dropped arguments that a record names. */
const MOST_NAMED = 20

type Sendable = Parameters<typeof addProofs>[0][number]

/** One HTTP API described by an OpenAPI document. */
export class OpenapiLink implements AnswerLink {
  readonly #config: OpenapiConfig
  readonly #io: AnswerIo
  readonly #tokens: Tokens
  #catalog: Catalog

  private constructor(config: OpenapiConfig, io: AnswerIo, catalog: Catalog) {
    this.#config = config
    this.#io = io
    this.#tokens = new Tokens(io)
    this.#catalog = catalog
  }

  static async open(config: OpenapiConfig, io: AnswerIo): Promise<OpenapiLink> {
    return new OpenapiLink(config, io, await buildCatalog(await readDocument(config, io), config))
  }

  get serverInfo(): AnswerLink['serverInfo'] {
    return this.#catalog.serverInfo
  }

  get instructions(): string | undefined {
    return this.#catalog.instructions
  }

  tools(): ReturnType<AnswerLink['tools']> {
    return this.#catalog
  }

  async refresh(signal: AbortSignal): Promise<void> {
    const { fetch } = this.#io
    this.#catalog = await buildCatalog(await readDocument(this.#config, { fetch, signal }), this.#config)
  }

  async call({ name, arguments: given, headers: passed, signal }: AnswerCall): Promise<AnswerResult> {
    const plan = this.#catalog.plans.get(name)
    if (!plan) throw new HubError('tool_not_found', `The API has no tool ${JSON.stringify(name.slice(0, 64))}`)
    const placed = placeArguments(plan, given)
    const first = await this.#proofs(plan)
    let answered = await this.#send(plan, placed, passed, first.proofs, signal)
    if (answered.response.status === 401 && first.kept.length > 0) {
      // Sent again: a request that the API rejected for an expired token cannot have acted.
      answered.response.cancel()
      await Promise.all(first.kept.map(({ place, token }) => this.#tokens.refused(place, token)))
      answered = await this.#send(plan, placed, passed, (await this.#proofs(plan)).proofs, signal)
    }
    const result = await resultOf(answered.response, answered.url)
    return placed.dropped.length === 0 ? result : { ...result, note: droppedNote(placed.dropped) }
  }

  async #send(
    plan: CallPlan,
    placed: Placed,
    passed: Readonly<Record<string, string>>,
    proofs: readonly Sendable[],
    signal: AbortSignal,
  ): Promise<{ readonly response: GuardedResponse; readonly url: string }> {
    const { address, headers, content } = placed
    const cookies = [...placed.cookies]
    const type = headers['content-type']
    const all: Record<string, string> = { ...passed, ...headers }
    const query = addProofs(proofs, all, cookies)
    if (cookies.length > 0) all.cookie = cookies.join('; ')
    // Configured headers win, except those that frame the body.
    Object.assign(all, this.#config.headers, type === undefined ? {} : { 'content-type': type })
    const url = address(query)
    const limits = { signal, headTimeoutMs: 0, idleTimeoutMs: 0, maxBytes: this.#io.maxResultBytes }
    const body = content === undefined ? {} : { body: content }
    const request = { method: plan.method, headers: all, ...limits, ...body }
    if (plan.method === 'GET') return await fetchFollowing(this.#io.fetch, url, request)
    return { url, response: await this.#io.fetch(url, request) }
  }

  async close(): Promise<void> {}

  /** The credentials of a call, and which of its tokens were cached. */
  async #proofs({ proofs }: CallPlan) {
    const kept: { readonly place: TokenPlace; readonly token: string }[] = []
    const sendable = await Promise.all(
      proofs.map(async (proof): Promise<Sendable> => {
        if (proof.kind !== 'token') return proof
        const given = await this.#tokens.get(proof.place)
        if (given.kept) kept.push({ place: proof.place, token: given.token })
        return { kind: 'header', name: 'authorization', value: `Bearer ${given.token}` }
      }),
    )
    return { proofs: sendable, kept }
  }

  /**
   * Polls the endpoints, and returns those that the API does not have; without any that it has, no request is known to be
   * safe, and only a connection is opened.
   */
  async alive(signal: AbortSignal): Promise<readonly string[]> {
    const { base } = this.#catalog
    const missing: string[] = []
    for (const path of this.#io.healthEndpoints) {
      const url = URL.parse(`${withoutEnd(base.href, '/')}/${path.replace(/^\/+/, '')}`)
      if (url?.origin !== base.origin) {
        throw new HubError(
          'config_invalid',
          `The health endpoint ${JSON.stringify(path.slice(0, 100))} is no path of the API`,
        )
      }
      const request = { method: 'GET', headers: this.#config.headers, signal }
      const { response } = await fetchFollowing(this.#io.fetch, url.href, request)
      response.cancel()
      if (isMissingPath(response.status)) missing.push(`${path} (HTTP ${response.status})`)
      else if (response.status < 200 || response.status > 299) {
        const message = `The health endpoint ${JSON.stringify(path.slice(0, 100))} answered with HTTP ${response.status}`
        throw new HubError('upstream_http_error', message)
      }
    }
    if (missing.length === this.#io.healthEndpoints.length) await this.#io.reach(base.href, signal)
    return missing
  }
}

function droppedNote(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMED).map(name => JSON.stringify(name.slice(0, 64)))
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''
  return `Arguments that the tool does not have were dropped: ${shown.join(', ')}${more}`
}
