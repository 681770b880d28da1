import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Auth, createAuth } from '../../../core/auth/create.ts'
import type { JsonValue } from '../../../core/contract/json.ts'
import type { PluginLogger } from '../../../core/contract/plugin.ts'
import type { Actor, Role, UserActor } from '../../../core/contract/records.ts'
import type { BytesInFlight } from '../../../core/domain/byte-account.ts'
import { EventBus } from '../../../core/events/bus.ts'
import { BodyParser } from '../../../core/http/body/body-parser.ts'
import { createHttp, type Http, type HttpDeps } from '../../../core/http/create.ts'
import type { Route } from '../../../core/http/route.ts'
import { RECORD_KINDS } from '../../../core/hub/record-kinds.ts'
import type { Registry, UserRecord } from '../../../core/registry/api.ts'
import { createRegistry } from '../../../core/registry/create.ts'
import { createSealer } from '../../../core/secrets/seal.ts'
import { openStore } from '../../../core/store/open.ts'
import { bytesInFlight } from '../../support/bytes.ts'
import { putReadyStore } from '../../support/ready-store.ts'
import { notingFetch } from '../../support/seen-codes.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { bundledTransports } from '../../support/transports.ts'

export const PASSWORD = 'correct horse battery staple 7'
/** The hub itself, for what a test arranges. */
export const HUB: Actor = { kind: 'system', purpose: 'test' }

export interface TestHttp extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly http: Http
  readonly auth: Auth
  readonly registry: Registry
  readonly bus: EventBus
  readonly bytes: BytesInFlight
  /** Messages of the log, with their fields. */
  readonly logged: { message: string; fields: Readonly<Record<string, unknown>> | undefined }[]
  /** A new user; with no password that fits unless a hash is given. */
  person(name: string, options?: { readonly role?: Role; readonly passwordHash?: string }): Promise<UserRecord>
  /** A fresh session token. */
  tokenOf(name: string): Promise<string>
  key(name: string, scopes: readonly JsonValue[]): Promise<{ readonly id: string; readonly secret: string }>
  /** Actions of the audit, oldest first. */
  audited(): Promise<unknown[]>
  get(path: string, token?: string, init?: RequestInit): Promise<Response>
  send(method: string, path: string, body: unknown, token?: string): Promise<Response>
}

/** The real HTTP side on a free port, over a real registry and store, with one administrator `ada`. */
export async function startHttp(
  options: {
    readonly config?: Partial<HttpDeps['config']>
    readonly routes?: readonly Route[]
    readonly setupToken?: string
    readonly live?: HttpDeps['live']
    readonly streamIdleSeconds?: number
    readonly empty?: true
  } = {},
): Promise<TestHttp> {
  const folder = await makeTemp('http')
  await putReadyStore(folder)
  const store = await openStore({ dataDir: folder })
  const bus = new EventBus((error, name) => {
    throw new Error(`A handler of ${name} failed`, { cause: error })
  })
  const room = createRegistry({
    store,
    bus,
    sealer: createSealer([randomBytes(32)]),
    outboundAllow: [],
    transports: bundledTransports(),
    kinds: { all: () => RECORD_KINDS },
    stdio: () => ({ policy: 'sandboxed', level: 'none' }),
  })
  const { registry } = room
  const auth = createAuth({ secret: randomBytes(32), instanceId: 'instance-1', registry, db: store.db, bus })
  const logged: TestHttp['logged'] = []
  const note: PluginLogger['info'] = (message, fields) => void logged.push({ message, fields })
  const bodyParser = new BodyParser()
  const bytes = bytesInFlight()
  const http = createHttp({
    transports: bundledTransports(),
    bodyParser,
    limitUses: () => new Map(),
    customMetrics: { list: () => [] },
    consoleFolder: join(import.meta.dir, 'no-console'),
    pluginRoutes: {
      free: () => undefined,
      of: () => [],
      whole: () => [],
      all: () => [],
      unavailable: () => undefined,
      records: () => [],
      codes: () => [],
      limits: () => ({}),
    },
    config: {
      host: '127.0.0.1',
      port: 0,
      basePath: '',
      allowedHosts: ['localhost', '127.0.0.1', '[::1]'],
      allowedOrigins: [],
      adminAddresses: [],
      trustedProxies: [],
      requestLogs: false,
      ...options.config,
    },
    registry,
    auth,
    bus,
    log: { debug: note, info: note, warn: note, error: note },
    bytes,
    mcp: {
      fetch: (_request, path, info) => Response.json({ path, requestId: info.requestId }),
      usage: () => ({
        ...{ sessionsPerUser: 0, callsPerUser: 0, streamsPerUser: 0 },
        ...{
          listenStreamsPerUser: 0,
          parkedCallsPerUser: 0,
          tasksPerUser: 0,
          leasesPerUser: 0,
        },
        ...{ bytesInFlightPerUser: 0, eventReplayBytesPerUser: 0 },
      }),
    },
    alerts: {
      usage: async () => ({
        alertRulesPerUser: 0,
        alertChannelsPerUser: 0,
        alertSilencesPerUser: 0,
        alertInstancesPerUser: 0,
      }),
      channelTypes: () => [],
    },
    dashboards: { count: async () => 0 },
    assistant: { count: async () => 0 },
    upstreams: {
      processesOf: () => 0,
      foreignProcessesOf: () => 0,
      isolatedThreadsOf: () => 0,
      catalogBytesOf: () => 0,
    },
    routes: options.routes ?? [],
    setupToken: options.setupToken,
    version: '1.1.0',
    ...(options.live ? { live: options.live } : {}),
    ...(options.streamIdleSeconds === undefined ? {} : { streamIdleSeconds: options.streamIdleSeconds }),
  })
  const end = async (): Promise<void> => {
    await http.stop(false)
    await auth.dispose()
    await room.close()
    await store.close()
    await removeTemp(folder)
  }
  let port: number
  try {
    if (!options.empty) await registry.users.completeSetup('ada', await auth.passwords.hash(PASSWORD))
    port = http.listen().port
  } catch (error) {
    await end()
    throw error
  }
  const url = `http://127.0.0.1:${port}`
  const headersOf = (token: string | undefined): Record<string, string> =>
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  return {
    url,
    port,
    http,
    auth,
    registry,
    bus,
    bytes,
    logged,
    person: (name, { role = 'user', passwordHash = '' } = {}) =>
      registry.users.create(HUB, { name, role, passwordHash }),
    async tokenOf(name) {
      return (await auth.tokens.issue(await registry.users.byName(HUB, name))).token
    },
    async key(name, scopes) {
      const { id, role } = await registry.users.byName(HUB, name)
      const owner: UserActor = { kind: 'user', userId: id, name, role, credential: { kind: 'local' } }
      const { key, secret } = await registry.keys.create(owner, { label: 'key', scopes })
      return { id: key.id, secret }
    },
    async audited() {
      await registry.audit.flush()
      const { items } = await registry.audit.list(HUB, { limit: 100, offset: 0 })
      return items.map(item => item.action).reverse()
    },
    get: (path, token, init = {}) =>
      notingFetch(url + path, {
        ...init,
        headers: { ...headersOf(token), ...(init.headers as Record<string, string>) },
      }),
    send: (method, path, body, token) =>
      notingFetch(url + path, {
        method,
        headers: { ...headersOf(token), 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    [Symbol.asyncDispose]: end,
  }
}
