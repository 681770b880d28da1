import { type Auth, createAuth } from '../../../core/auth/create.ts'
import type { PluginLogger } from '../../../core/contract/plugin.ts'
import { EventBus } from '../../../core/events/bus.ts'
import { createHttp, type Http, type HttpDeps } from '../../../core/http/create.ts'
import type { Route } from '../../../core/http/route.ts'
import { openStore } from '../../../core/store/open.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { People } from './people.ts'

export const PASSWORD = 'correct horse battery staple 7'
export const SECRET = 'a secret of more than thirty-two bytes'
export const INSTANCE = 'instance-1'

export interface TestHttp extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly http: Http
  readonly auth: Auth
  readonly people: People
  readonly bus: EventBus
  /** Messages of the log, with their fields. */
  readonly logged: { message: string; fields: Readonly<Record<string, unknown>> | undefined }[]
  tokenOf(name: string): Promise<string>
  get(path: string, token?: string, init?: RequestInit): Promise<Response>
  send(method: string, path: string, body: unknown, token?: string): Promise<Response>
}

/** The real HTTP side on a free port, over a real store, with people in memory and one administrator `ada`. */
export async function startHttp(
  options: {
    readonly config?: Partial<HttpDeps['config']>
    readonly routes?: readonly Route[]
    readonly setupToken?: string
    readonly empty?: true
  } = {},
): Promise<TestHttp> {
  const folder = await makeTemp('http')
  const store = await openStore({ dataDir: folder })
  const bus = new EventBus((error, name) => {
    throw new Error(`A handler of ${name} failed`, { cause: error })
  })
  const people = new People(bus)
  const registry = people.registry()
  const auth = createAuth({ secret: SECRET, instanceId: INSTANCE, registry, db: store.db, bus })
  const logged: TestHttp['logged'] = []
  const note: PluginLogger['info'] = (message, fields) => void logged.push({ message, fields })
  const http = createHttp({
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
    mcp: { fetch: (_request, path, info) => Response.json({ path, requestId: info.requestId }) },
    routes: options.routes ?? [],
    setupToken: options.setupToken,
    version: '1.1.0',
  })
  if (!options.empty) people.add('ada', 'admin', await auth.passwords.hash(PASSWORD))
  const { port } = http.listen()
  const url = `http://127.0.0.1:${port}`
  const headersOf = (token: string | undefined): Record<string, string> =>
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  return {
    url,
    port,
    http,
    auth,
    people,
    bus,
    logged,
    async tokenOf(name) {
      const row = people.rows.find(each => each.name === name)
      if (!row) throw new Error(`There is no ${name}`)
      return (await auth.tokens.issue(row)).token
    },
    get: (path, token, init = {}) =>
      fetch(url + path, { ...init, headers: { ...headersOf(token), ...(init.headers as Record<string, string>) } }),
    send: (method, path, body, token) =>
      fetch(url + path, {
        method,
        headers: { ...headersOf(token), 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async [Symbol.asyncDispose]() {
      await http.stop(false)
      auth.dispose()
      await store.close()
      await removeTemp(folder)
    },
  }
}
