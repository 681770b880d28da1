import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import type { UpstreamReply } from '../../../core/connections/api.ts'
import { createConnections } from '../../../core/connections/create.ts'
import type { Connections, ConnectionsOptions } from '../../../core/connections/options.ts'
import { Sandbox } from '../../../core/connections/sandbox/sandbox.ts'
import { HubError } from '../../../core/contract/errors.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { PluginLogger } from '../../../core/contract/plugin.ts'
import type { TransportContribution } from '../../../core/contract/points.ts'
import type { ServerRecord } from '../../../core/contract/records.ts'
import { EventBus } from '../../../core/events/bus.ts'
import type { HubEvent } from '../../../core/events/catalog.ts'
import type { AuditEntry, EffectiveServer } from '../../../core/registry/api.ts'
import { secretValues } from '../../../core/registry/servers/effective-server.ts'
import { ServerRedactors } from '../../../core/secrets/server-redactors.ts'
import { SQLITE_FILE } from '../../../core/store/open.ts'
import type { Tables } from '../../../core/store/tables.ts'
import { stdioTransport } from '../../../plugins/transport-stdio/plugin.ts'
import { bytesInFlight } from '../../support/bytes.ts'
import { atMost } from '../../support/pace.ts'
import { putReadyStore } from '../../support/ready-store.ts'

export const FIXTURE = join(import.meta.dir, 'fixtures', 'server.ts')

export function serverRecord(id: string, change: Partial<ServerRecord> = {}): ServerRecord {
  return {
    id,
    ownerId: 'user-1',
    ownerName: 'ada',
    name: id,
    transport: 'stdio',
    config: { command: process.execPath, args: [FIXTURE] },
    variables: {},
    timeoutMs: 60_000,
    maxTimeoutMs: 600_000,
    visibility: 'private',
    enabled: true,
    start: 'eager',
    isolate: false,
    healthCheck: { enabled: false, interval: 30_000, timeout: 5_000, retries: 2 },
    passthroughHeaders: [],
    tools: {},
    secrets: [],
    origin: 'store',
    revision: 1,
    createdAt: '',
    updatedAt: '',
    ...change,
  }
}

/** A fixture server in one of its modes. */
export function fixture(id: string, mode: string, change: Partial<ServerRecord> = {}): ServerRecord {
  return serverRecord(id, { config: { command: process.execPath, args: [FIXTURE, mode] }, ...change })
}

export interface Rig extends AsyncDisposable {
  readonly connections: Connections
  readonly bus: EventBus
  readonly events: HubEvent[]
  readonly logs: { level: string; message: string; fields?: unknown }[]
  readonly dataDir: string
  readonly audited: AuditEntry[]
  readonly role: { value: 'admin' | 'user' }
  /** Puts a record into the registry and announces it on the bus. */
  put(record: ServerRecord): void
  remove(id: string): void
  /** Switches a server on or off as the route does: kept first, then acted upon. */
  turn(id: string, on: boolean): void
  call(serverId: string, tool: string, args?: JsonObject): Promise<UpstreamReply>
  dispose(): Promise<void>
}

export async function startRig(
  records: readonly ServerRecord[],
  options: Partial<Omit<ConnectionsOptions, 'config'>> & {
    config?: Partial<ConnectionsOptions['config']>
    transports?: () => ReadonlyMap<string, TransportContribution>
    broken?: Map<string, HubError>
    /** Called between `load` and `begin`, as requests are that come while the hub starts. */
    beforeBegin?: (connections: Connections) => void
  } = {},
): Promise<Rig> {
  const dataDir = options.config?.dataDir ?? mkdtempSync(join(tmpdir(), 'patchbay-connections-'))
  const file = join(dataDir, SQLITE_FILE)
  if (!existsSync(file)) await putReadyStore(dataDir)
  const database = new Database(file)
  // The servers of a rig have no rows.
  database.exec('PRAGMA foreign_keys = OFF')
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database }) })
  const bus = new EventBus(error => {
    throw error
  })
  const events: HubEvent[] = []
  bus.on('*', event => void events.push(event))
  const logs: Rig['logs'] = []
  const note =
    (level: string) =>
    (message: string, fields?: unknown): void =>
      void logs.push({ level, message, fields })
  const log: PluginLogger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') }
  const stored = new Map(records.map(record => [record.id, record]))
  const audited: Rig['audited'] = []
  const role: Rig['role'] = { value: 'admin' }
  const { config, broken, beforeBegin, ...rest } = options
  const connections = createConnections({
    registry: {
      servers: {
        list: async () => [...stored.values()],
        byId: async (_actor, id) => stored.get(id),
        effective: async (id): Promise<EffectiveServer> => {
          const error = broken?.get(id)
          if (error) throw error
          const settings = stored.get(id)
          if (!settings) throw new HubError('server_not_found', `no server ${id}`)
          return {
            settings,
            ownerId: settings.ownerId,
            ownerRole: role.value,
            ownerNumber: 1,
            ownerGrants: { network: 'none' },
            secrets: secretValues([settings]),
            configHash: JSON.stringify([settings.config, settings.transport]),
          }
        },
      },
      users: {
        byId: async id => ({
          id,
          number: 1,
          name: 'ada',
          role: role.value,
          disabled: false,
          mustChangePassword: false,
          grants: { network: 'none' },
          secondFactor: null,
          tokenEpoch: 0,
          origin: 'store',
          revision: 1,
          createdAt: '',
          updatedAt: '',
        }),
      },
      shares: {
        reachOf:
          async ({ ownerId, visibility }) =>
          id =>
            visibility === 'public' || id === ownerId,
      },
      audit: { record: (_actor, entry) => void audited.push(entry) },
    },
    store: { db },
    bus,
    config: { workers: 2, stdioPolicy: 'sandboxed', outboundAllow: [], registries: [], dataDir, ...config },
    sandbox: new Sandbox({ level: 'none', detail: 'not looked at', notes: [] }, dataDir, bytesInFlight()),
    transports: () => new Map([['stdio', stdioTransport]]),
    headerProviders: () => new Map(),
    log,
    redactors: new ServerRedactors(),
    instanceId: 'test',
    baseEnv: { PATH: process.env.PATH ?? '', HOME: dataDir, LANG: 'C.UTF-8' },
    // Most tests count connections and starts.
    probes: false,
    ...rest,
  })
  await connections.load()
  beforeBegin?.(connections)
  await connections.begin()
  const dispose = async (): Promise<void> => {
    await connections.dispose()
    await db.destroy()
    rmSync(dataDir, { recursive: true, force: true })
  }
  return {
    connections,
    bus,
    events,
    logs,
    dataDir,
    audited,
    role,
    put(record) {
      const known = stored.has(record.id)
      stored.set(record.id, record)
      if (known) {
        bus.emit('server.updated', record.ownerId, {
          serverId: record.id,
          name: record.name,
          revision: record.revision,
          changed: [],
        })
      } else {
        bus.emit('server.created', record.ownerId, { serverId: record.id, name: record.name })
      }
    },
    remove(id) {
      const record = stored.get(id)
      stored.delete(id)
      bus.emit('server.removed', record?.ownerId ?? null, { serverId: id, name: record?.name ?? '' })
    },
    turn(id, on) {
      const record = stored.get(id)
      if (record) stored.set(id, { ...record, enabled: on })
      if (on) connections.start(id)
      else connections.stop(id)
    },
    call: (serverId, tool, args = {}) =>
      connections.request(serverId, { method: 'tools/call', params: { name: tool, arguments: args } }).reply,
    dispose,
    [Symbol.asyncDispose]: dispose,
  }
}

/** The text of a tool's result; throws what came instead. */
export function textOf(reply: UpstreamReply): string {
  if (reply.kind !== 'result') throw new Error(JSON.stringify(reply))
  const result = JSON.parse(String(reply.text)) as { content: { text: string }[] }
  return result.content[0]!.text
}

export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 20_000,
): Promise<void> {
  const end = performance.now() + atMost(timeoutMs)
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Not within ${timeoutMs} ms: ${what}`)
    await Bun.sleep(5)
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
