import type { z } from 'zod'
import type { Authenticator } from '../auth/api.ts'
import { requireLive } from '../auth/ended-credential.ts'
import type { RateLimiter } from '../auth/rate-limit.ts'
import { LIMITS } from '../config/limits.ts'
import { type FieldError, HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { LongText, partsOf } from '../domain/json/long-text.ts'
import { validationError } from '../domain/validation-error.ts'
import { targetOf } from '../request/canonical-path.ts'
import type { RequestInfo } from '../request/request-info.ts'
import { CHAIN_HEADER, type HubMarks } from '../secrets/hub-marks.ts'
import { type JsonBodyOptions, readJsonBody, readRawBody } from './body/body.ts'
import type { RequestBytes } from './body/request-bytes.ts'
import { pulledResponse, textResponse } from './counted-answer.ts'
import type { Method, Reply, ResponseSpec, Route, RouteContext } from './route.ts'
import { type SenderTurn, SenderTurns } from './sender-turns.ts'
import { check, closed, queryObject, queryProblems } from './validate.ts'

/** Dependencies of the pipeline on the rest of the hub. */
export interface PipelineDeps {
  readonly authenticator: Authenticator
  readonly rateLimiter: RateLimiter
  /** Why nothing may be changed now: `draining`, `storage_unavailable`. Default: changes are allowed. */
  readonly writeObstacle?: () => HubError | undefined
  /** Detects requests that came back to the hub in a loop; absent: no detection. */
  readonly marks?: HubMarks
  /** Parses large bodies; absent: the main thread parses them. */
  readonly bodyParser?: JsonBodyOptions['parser']
}

function changes(route: RunnableRoute, { method }: Request): boolean {
  return route.reads !== true && method !== 'GET' && method !== 'HEAD'
}

type AnyContext = RouteContext<unknown, unknown, unknown>

/** A route without its static types, which were checked at its declaration. */
export interface RunnableRoute {
  readonly method: Method
  readonly path: string
  readonly access: Route['access']
  readonly summary: string
  readonly tag: string
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly anyQuery?: true
  readonly body?: z.ZodType
  readonly bodyLimit?: number
  readonly rawBody?: number
  readonly responses: Readonly<Record<number, ResponseSpec>>
  readonly rated?: true
  readonly reads?: boolean
  readonly keysOfGroups?: true
  readonly beforePasswordChange?: true
  readonly json?: Route['json']
  upgrade?(context: AnyContext & { readonly actor: UserActor | undefined }): void | Promise<void>
  readonly ownCredential?: true
  handle(context: AnyContext & { readonly actor: UserActor | undefined }): Promise<Reply | Response> | Reply | Response
}

/** A request that was let in. */
interface Admission {
  readonly info: RequestInfo
  readonly params: Readonly<Record<string, string>>
  readonly held: RequestBytes
  readonly actor: UserActor | undefined
  readonly turn: SenderTurn | undefined
}

/** Makes query and body reject undeclared fields. */
export function runnable(route: Route): RunnableRoute {
  const { query, body, ...rest } = route as unknown as RunnableRoute
  return {
    ...rest,
    ...(query === undefined ? {} : { query: closed(query) }),
    ...(body === undefined ? {} : { body: closed(body) }),
  }
}

/** Routes by which users change how they sign in: open to one who must set a second factor first. */
const OWN_SIGN_IN = '/api/auth/'

/** Only these paths, and routes with `rated`, are rate-limited: health checks of load balancers and the console's files are not API requests. */
export function isApi(path: string): boolean {
  return /^\/api(?:\/|$)/i.test(path)
}

/**
 * Runs one request through one route, in the order that reveals the least: credential, access, rate, size, type, JSON,
 * fields, handler. Throws HubError.
 */
export function createPipeline(deps: PipelineDeps) {
  const { authenticator, rateLimiter, bodyParser } = deps
  const turns = new SenderTurns()

  const count = (path: string, actor: UserActor | undefined, info: RequestInfo, rated = false): void => {
    if (rated || isApi(path)) rateLimiter.count(actor, actor ? '' : info.addressKey)
  }

  const actorFor = async (
    route: RunnableRoute,
    request: Request,
    info: RequestInfo,
  ): Promise<UserActor | undefined> => {
    if (route.ownCredential) return undefined
    const method = route.reads ? 'GET' : request.method
    try {
      const audience = route.keysOfGroups ? 'tools' : 'api'
      const { beforePasswordChange, path } = route
      const isOwnSignIn = path.startsWith(OWN_SIGN_IN)
      return await authenticator.authenticate(
        ...([request.headers, audience, method, info, beforePasswordChange, isOwnSignIn] as const),
      )
    } catch (error) {
      // A public route ignores an invalid credential, so that its user can sign in again.
      const ended = error instanceof HubError && [401, 403, 429].includes(error.status)
      if (route.access === 'public' && ended) return undefined
      throw error
    }
  }

  /** Runs all checks that come before reading the body. */
  const admitted = async (
    route: RunnableRoute,
    request: Request,
    info: RequestInfo,
    held: RequestBytes,
  ): Promise<UserActor | undefined> => {
    const actor = await actorFor(route, request, info)
    held.identify(actor)
    deps.marks?.validate(request.headers.get(CHAIN_HEADER))
    if (route.access === 'admin' && actor) requireAdmin(actor)
    count(route.path, actor, info, route.rated)
    const obstacle = changes(route, request) ? deps.writeObstacle?.() : undefined
    if (obstacle) throw obstacle
    return actor
  }

  const upgraded = async (route: RunnableRoute, request: Request, info: RequestInfo): Promise<Response> => {
    const { headers } = request
    const given = route.ownCredential !== true && (headers.has('authorization') || headers.has('x-auth-token'))
    const actor = given ? await authenticator.authenticate(headers, 'api', 'GET', info) : undefined
    if (route.access === 'admin' && actor) requireAdmin(actor)
    count(route.path, actor, info)
    const errors: FieldError[] = []
    const query = readQuery(route, request, errors)
    if (errors.length > 0) throw validationError(errors)
    const readBody = async () => new Uint8Array()
    await route.upgrade?.({
      request,
      info,
      actor,
      params: {},
      query,
      body: undefined,
      readBody,
      take() {},
      signal: request.signal,
    })
    // Never sent: the connection is already a WebSocket.
    return new Response(null, { status: 204 })
  }

  const answered = async (
    route: RunnableRoute,
    request: Request,
    { info, params, held, actor, turn }: Admission,
  ): Promise<Response> => {
    // An authenticated caller may send slowly, and wait for work of unknown length.
    if (actor) info.keepOpen()
    const bodyRead = {
      ...bodyOptions(route, bodyParser),
      sender: actor ? actor.userId : info.addressKey,
      account: held,
    }
    const body = route.body
      ? await readJsonBody(request, { ...bodyRead, turn: async bytes => turn?.wait(bytes) })
      : undefined
    // Without a body, the turn has not been waited for yet.
    const waited = body === undefined && ((await turn?.wait()) ?? false)
    if (actor && (route.body || waited) && route.access !== 'public') await requireLive(authenticator, actor)
    const fields = readFields(route, request, params, body)
    const readBody = async () => {
      const bytes = await readRawBody(request, { limit: route.rawBody ?? 0, account: held })
      if (actor) await requireLive(authenticator, actor)
      return bytes
    }
    const take = (bytes: number): void => held.take(bytes)
    const reply = await route.handle({ request, info, actor, ...fields, readBody, take, signal: request.signal })
    if (reply instanceof Response) return reply
    held.settle()
    return replyResponse(request, reply, held)
  }

  return {
    /** Rejects a request without a route, by `refusal` if there is one. `allow`: the methods of the path, if it exists. */
    async unrouted(
      request: Request,
      path: string,
      info: RequestInfo,
      allow: readonly string[],
      open: boolean,
      refusal?: HubError,
    ) {
      if (isApi(path) && !open) {
        const actor = await authenticator.authenticate(request.headers, 'api', 'GET', info, true, true)
        count(path, actor, info)
      }
      if (refusal) throw refusal
      if (allow.length > 0) {
        throw new HubError('method_not_allowed', `${request.method.slice(0, 16)} is not one of ${allow.join(', ')}`, {
          data: { allow },
        })
      }
      throw new HubError('route_not_found', 'There is nothing at this path')
    },

    /** `held` is charged for the body; once the caller is known, the caller's account is charged. */
    async run(
      route: RunnableRoute,
      request: Request,
      info: RequestInfo,
      params: Readonly<Record<string, string>>,
      held: RequestBytes,
    ) {
      if (route.upgrade && isUpgrade(request)) return upgraded(route, request, info)
      const actor = await admitted(route, request, info, held)
      // Anonymous callers have a low rate of their own, and share an address with programs that monitor the hub.
      const turn = actor && turns.begin(actor.userId, info.startedLate)
      try {
        return await answered(route, request, { info, params, held, actor, turn })
      } finally {
        turn?.end()
      }
    },
  }
}

function requireAdmin(actor: UserActor): void {
  if (actor.restricted) {
    throw new HubError('address_not_allowed', 'Administration is not open to this address', {
      hint: 'Add its network to ADMIN_ADDRESSES; behind a proxy, list the proxy in TRUSTED_PROXIES.',
    })
  }
  if (actor.role !== 'admin') throw new HubError('admin_only', 'This is open to administrators only')
}

function isUpgrade(request: Request): boolean {
  return request.headers.get('upgrade')?.toLowerCase() === 'websocket'
}

/** Anonymous clients may send only as much as a sign-in needs, since reading it costs them no quota. */
function bodyOptions({ access, bodyLimit, json }: RunnableRoute, parser: JsonBodyOptions['parser']): JsonBodyOptions {
  const [bytes, members] =
    access === 'public' ? [LIMITS.publicBodyBytes, LIMITS.publicJsonMembers] : [LIMITS.bodyBytes, LIMITS.jsonMembers]
  return {
    limit: bodyLimit ?? bytes,
    json: json ?? { depth: LIMITS.jsonDepth, members },
    ...(parser ? { parser } : {}),
  }
}

/** Reads query, path parameters and body, and reports all their errors together. */
function readFields(
  route: RunnableRoute,
  request: Request,
  rawParams: Readonly<Record<string, string>>,
  rawBody: JsonObject | undefined,
) {
  const errors: FieldError[] = []
  const query = readQuery(route, request, errors)
  const params = route.params ? read(route.params, rawParams, 'params', errors) : rawParams
  if (route.body && rawBody === undefined && !route.body.safeParse(undefined).success) {
    throw new HubError('json_empty', 'The body is empty; a JSON object is wanted')
  }
  const body = route.body ? read(route.body, rawBody, 'body', errors) : undefined
  if (errors.length > 0) throw validationError(errors)
  return { query, params, body }
}

function readQuery(route: RunnableRoute, request: Request, errors: FieldError[]): unknown {
  if (route.anyQuery) return {}
  const { query } = targetOf(request.url)
  const given = query === '' ? {} : queryObject(query)
  const problems = queryProblems(query, given, route.query)
  errors.push(...problems)
  if (problems.length > 0) return {}
  if (route.query) return read(route.query, given, 'query', errors)
  for (const name of Object.keys(given)) {
    const shown = name.slice(0, 64)
    errors.push({
      pointer: `?${shown}`,
      code: 'unknown_field',
      detail: `There is no query parameter ${JSON.stringify(shown)}`,
    })
  }
  return {}
}

function read(schema: z.ZodType, input: unknown, where: 'query' | 'params' | 'body', errors: FieldError[]): unknown {
  const checked = check(schema, input, where)
  if ('value' in checked) return checked.value
  errors.push(...checked.errors)
  return undefined
}

async function replyResponse(request: Request, reply: Reply, held: RequestBytes): Promise<Response> {
  const { status = 200, body, parts, type = 'application/json', headers: own = {} } = reply
  if (parts) return pulledResponse({ status, headers: new Headers({ ...own, 'content-type': type }) }, parts, held)
  const text = body === undefined ? reply.text : JSON.stringify(body)
  if (text === undefined) return new Response(null, { status, headers: own })
  const headers = new Headers({ ...own, 'content-type': type })
  return textResponse(request, { status, headers }, text instanceof LongText ? text : new LongText(partsOf(text)), held)
}
