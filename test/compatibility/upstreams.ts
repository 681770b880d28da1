import { type Api, document, type Seen, startApi } from '../plugins/transport-openapi/harness.ts'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import type { UpstreamKind } from './axes.ts'

export type Noted = 'begun' | 'cancelled' | 'released' | 'subscribed' | 'unsubscribed'

/** The place where clients reach an upstream: a server or group at the hub, and the forms of names and URIs there. */
export interface Place {
  readonly name: string
  tool(name: string): string
  uri(uri: string): string
}

/** One upstream server, seen and moved from its own side. */
export interface Upstream {
  readonly kind: UpstreamKind
  /** `place` is for features without a connection of their own, `askingPlace` for features that ask the client. */
  readonly place: Place
  readonly askingPlace: Place
  /** Every client that can be asked has a connection of its own here, whatever it calls. */
  readonly ownPlace: Place
  /** Other upstreams at the same place that have resources with the same URIs. */
  readonly neighbours: readonly Upstream[]
  /** The keys of what it noted. */
  noted(event: Noted): Promise<readonly string[]>
  release(key: string): Promise<void>
  touch(uri: string): Promise<void>
  /** One more tool, of this name. */
  grow(name: string): Promise<void>
}

/** A hub with all upstreams behind it. */
export interface World {
  readonly hub: Hub
  readonly admin: Client
  readonly upstreams: readonly Upstream[]
  stop(): Promise<void>
}

export async function startWorld(kinds: readonly UpstreamKind[], more: WorldOptions = {}): Promise<World> {
  const programs: Program[] = []
  let api: ScriptedApi | undefined
  let hub: Hub | undefined
  const stop = async (): Promise<void> => {
    await hub?.stop()
    await Promise.all(programs.map(program => program.stop()))
    await api?.[Symbol.asyncDispose]()
  }
  try {
    const servers: Record<string, object> = {}
    const addHttp = async (kind: UpstreamKind): Promise<void> => {
      const program = await startProgram(fixture('every-wire'), { env: environment(kind) })
      programs.push(program)
      servers[kind.id] = { type: kind.transport === 'sse' ? 'sse' : 'streamable-http', url: program.url }
      if (kind.era === 'legacy') servers[sharedServer(kind)] = { ...servers[kind.id], session: 'shared' }
      if (kind.transport === 'sse') servers[ownServer(kind)] = { ...servers[kind.id], session: 'per-session' }
    }
    await Promise.all(kinds.filter(({ transport }) => transport === 'sse' || transport === 'http').map(addHttp))
    for (const kind of kinds.filter(({ transport }) => transport === 'stdio')) {
      servers[kind.id] = { ...stdioFixture('every-wire', environment(kind)), session: 'shared' }
      if (askingServer(kind) !== kind.id)
        servers[askingServer(kind)] = { ...stdioFixture('every-wire', environment(kind)), session: 'per-session' }
    }
    if (kinds.some(({ transport }) => transport === 'openapi')) {
      api = await startScriptedApi()
      servers.openapi = { openapi: { url: `${api.url}/openapi.json` } }
    }
    hub = await startHub({ settings: { mcpServers: servers, groups: more.groups ?? [] } })
    const admin = await hub.setup()
    await online(admin, Object.keys(servers), 60_000)
    // The names that a group shows depend on the lists of all its members.
    for (const name of Object.keys(servers))
      await until(async () => (await statusOf(admin, name)).counts.tools > 0, {
        what: `the tools of ${name}`,
        timeoutMs: 60_000,
      })
    const upstreams = await Promise.all(kinds.map(kind => upstreamOf(kind, admin, api)))
    return { hub, admin, upstreams, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

export interface WorldOptions {
  readonly groups?: readonly object[]
}

function environment({ id, transport, era, version }: UpstreamKind): Record<string, string> {
  return { NAME: id, WIRE: transport, ERA: era, ...(version === undefined ? {} : { VERSION: version }) }
}

/** A local program of the older era is shared unless configured otherwise, and a shared program may not ask clients. */
export function askingServer({ id, transport, era }: UpstreamKind): string {
  return transport === 'stdio' && era === 'legacy' ? `${id}-own` : id
}

/** With `auto`, clients of an SSE server share its connection until it was seen to ask. */
function ownServer(kind: UpstreamKind): string {
  return kind.transport === 'sse' ? `${kind.id}-own` : askingServer(kind)
}

/** The server whose one connection serves all clients, including clients that can be asked. */
export function sharedServer({ id, transport }: UpstreamKind): string {
  return transport === 'stdio' ? id : `${id}-shared`
}

function alone(name: string): Place {
  return { name, tool: each => each, uri: each => each }
}

async function upstreamOf(kind: UpstreamKind, admin: Client, api: ScriptedApi | undefined): Promise<Upstream> {
  const places = { place: alone(kind.id), askingPlace: alone(askingServer(kind)), ownPlace: alone(ownServer(kind)) }
  const base = { kind, ...places, neighbours: [] }
  if (kind.transport === 'openapi' && api) {
    return {
      ...base,
      noted: async event => api.noted.filter(one => one.event === event).map(({ key }) => key),
      release: async key => api.release(key),
      touch: async () => {},
      grow: async name => {
        api.grow(name)
        await admin.ok('POST', '/api/servers/openapi/refresh')
      },
    }
  }
  const operator = await admin.mcp(`/mcp/${kind.id}`)
  const operate = async (tool: string, args: Record<string, string>): Promise<void> => {
    await callText(operator, tool, args)
  }
  return {
    ...base,
    noted: async event => JSON.parse(await callText(operator, 'journal', { event })) as string[],
    release: key => operate('release', { key }),
    touch: uri => operate('touch', { uri }),
    grow: name => operate('grow', { name }),
  }
}

interface ScriptedApi extends Api {
  readonly noted: { readonly event: Noted; readonly key: string }[]
  release(key: string): void
  grow(name: string): void
}

/** An HTTP API with the operations that have the names of the tools, and its document, which grows. */
async function startScriptedApi(): Promise<ScriptedApi> {
  const noted: ScriptedApi['noted'] = []
  const held = new Map<string, () => void>()
  const operations: Record<string, string> = { echo: 'text', steps: 'key', hold: 'key' }
  const hold = async (key: string, signal: AbortSignal): Promise<Response> => {
    const { promise, resolve } = Promise.withResolvers<Noted>()
    held.set(key, () => resolve('released'))
    signal.addEventListener('abort', () => resolve('cancelled'))
    noted.push({ event: 'begun', key })
    const event = await promise
    noted.push({ event, key })
    return new Response(`${event} ${key}`)
  }
  const api = await startApi(({ target, signal }: Seen) => {
    const { pathname, searchParams } = new URL(target, 'http://localhost')
    if (pathname === '/openapi.json') return Response.json(documentOf(operations))
    const key = searchParams.get(operations[pathname.slice(1)] ?? '') ?? ''
    if (pathname === '/hold') return hold(key, signal)
    return new Response(pathname === '/echo' ? key : `this is ${pathname.slice(1)}`)
  })
  return {
    url: api.url,
    seen: api.seen,
    last: () => api.last(),
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
    noted,
    release: key => held.get(key)?.(),
    grow: name => {
      operations[name] = 'key'
    },
  }
}

function documentOf(operations: Readonly<Record<string, string>>) {
  const paths = Object.entries(operations).map(([operationId, argument]) => {
    const parameters = [{ name: argument, in: 'query', schema: { type: 'string' } }]
    const responses = { 200: { description: 'a text', content: { 'text/plain': { schema: { type: 'string' } } } } }
    return [`/${operationId}`, { get: { operationId, parameters, responses } }]
  })
  return document(Object.fromEntries(paths), { servers: [{ url: '/' }] })
}
