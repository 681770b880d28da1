import { availableParallelism } from 'node:os'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { nearest } from '../domain/nearest.ts'
import type { ConfigLayer } from './env.ts'
import { isAmount, type KnownSettings, pluginDefaults } from './known-settings.ts'
import type { ConfigSource, HubConfig } from './schema.ts'
import type { Variable } from './variables.ts'

/** The layers of the configuration, highest precedence first. Values that a layer does not set are absent. */
export interface ConfigLayers {
  readonly env: ConfigLayer
  readonly file: ConfigLayer
  readonly store: ConfigLayer
}

/** Sizes and durations as they were written, such as `100MB`, by their key; values that were not set are absent. */
export type WrittenAmounts = Readonly<Record<string, JsonValue>>

/** The configuration in effect, with the source of each value. */
export interface Layered {
  readonly config: HubConfig
  readonly written: WrittenAmounts
  /** The layer that each value comes from. */
  readonly sources: ReadonlyMap<string, ConfigSource>
}

/** Values determined before the layers are read. */
export interface Surroundings {
  readonly dataDir: string
  readonly settingsFile: string
  /** True when the log is written to a terminal. */
  readonly isTerminal: boolean
}

/** Reads settings in JSON, from the file's `systemConfig` or the store. Invalid ones are warnings and never prevent the
 * start. */
export function readJsonLayer(
  values: JsonObject,
  where: string,
  { variables }: KnownSettings,
  warn: (message: string) => void,
): ConfigLayer {
  const layer: ConfigLayer = {}
  const known = new Map(variables.map(variable => [variable.key, variable]))
  for (const [key, value] of Object.entries(values)) {
    const variable = known.get(key)
    const problem = variable ? readVariable(layer, variable, value) : unknownKey(key, known.keys())
    if (problem !== undefined) warn(`${where}: ${problem}`)
  }
  return layer
}

/** Adds a value to the layer; returns the problem as a sentence if it is invalid. */
function readVariable(layer: ConfigLayer, variable: Variable, value: JsonValue): string | undefined {
  const { key, name, inFile, parse } = variable
  if (!inFile) return `"${key}" is taken from the environment variable ${name} alone; it is not used here`
  const text = asText(value)
  const parsed = text === undefined ? undefined : parse(text)
  if (!parsed?.ok) return `"${key}" cannot be used; wanted: ${parsed?.legal ?? 'a text, number, boolean or list'}`
  Object.assign(layer, { [key]: parsed.value })
  return undefined
}

function unknownKey(key: string, known: Iterable<string>): string {
  const meant = nearest(key, known)
  const hint = meant === undefined ? 'it is kept and not used' : `is "${meant}" meant?`
  return `${JSON.stringify(key.slice(0, 64))} is not known; ${hint}`
}

function asText(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (!Array.isArray(value) || isJsonObject(value)) return undefined
  return value.every(item => typeof item === 'string') ? value.join(',') : undefined
}

/** The texts and numbers of the layers from which the amounts in effect were read. `env`: by the name of the variable. */
export interface WrittenLayers {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly file: JsonObject
  readonly store: JsonObject
}

function amountsOf(
  sources: ReadonlyMap<string, ConfigSource>,
  written: WrittenLayers,
  settings: KnownSettings,
): WrittenAmounts {
  const amounts = settings.variables.flatMap(({ key, name }) => {
    const source = sources.get(key)
    if (!isAmount(key, settings) || source === undefined || source === 'default') return []
    const value = source === 'env' ? written.env[name]?.trim() : written[source][key]
    return value === undefined ? [] : [[key, value] as const]
  })
  return Object.fromEntries(amounts)
}

/** Precedence: environment, file, store, default. */
export function mergeLayers(
  layers: ConfigLayers,
  around: Surroundings,
  written: WrittenLayers,
  settings: KnownSettings,
): Layered {
  const given = { ...layers.store, ...layers.file, ...layers.env }
  const sources = new Map<string, ConfigSource>()
  for (const { key } of settings.variables) {
    const holder = (['env', 'file', 'store'] as const).find(layer => isSet(layers[layer], key))
    sources.set(key, holder ?? 'default')
  }
  const config: HubConfig = {
    ...pluginDefaults(settings),
    port: 3000,
    host: '127.0.0.1',
    basePath: '',
    adminAddresses: [],
    trustedProxies: [],
    stdioPolicy: 'sandboxed',
    outboundAllow: [],
    registries: [],
    workers: Math.min(availableParallelism(), 4),
    logLevel: 'info',
    logFormat: around.isTerminal ? 'pretty' : 'json',
    requestLogs: false,
    logRotation: 'daily',
    logMaxSizeBytes: 100_000_000,
    logMaxFiles: 14,
    logCompress: true,
    logDatabase: true,
    logRetentionMs: 30 * 86_400_000,
    logTable: 'log_record',
    logIndexes: ['timestamp'],
    syslogEnabled: false,
    syslogPort: 514,
    syslogProtocol: 'udp',
    syslogFacility: 'local0',
    searchEngineIndex: 'patchbay-logs',
    otelServiceName: 'patchbay',
    otelRatio: 0.01,
    discoveryEnabled: false,
    assistantEnabled: false,
    ...given,
    ...proxies(given),
    dataDir: around.dataDir,
    settingsFile: around.settingsFile,
    allowedHosts: hosts(given),
    allowedOrigins: origins(given),
  }
  return { config, sources, written: amountsOf(sources, written, settings) }
}

function isSet(layer: ConfigLayer, key: string): boolean {
  return Object.hasOwn(layer, key) && (layer as Readonly<Record<string, unknown>>)[key] !== undefined
}

/** Always allowed: no foreign page can make a browser send one as its Host, and health checks and the command line need
 * them. */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WILDCARDS = new Set(['0.0.0.0', '::'])

function hosts({ host, publicUrl, allowedHosts }: ConfigLayer): readonly string[] {
  const own = host === undefined || WILDCARDS.has(host) ? [] : [host.includes(':') ? `[${host}]` : host]
  const published = publicUrl === undefined ? [] : [new URL(publicUrl).hostname]
  return [...new Set([...LOOPBACK, ...published, ...(allowedHosts ?? own)])]
}

function origins({ publicUrl, allowedOrigins }: ConfigLayer): readonly string[] {
  const published = publicUrl === undefined ? [] : [new URL(publicUrl).origin]
  return [...new Set([...published, ...(allowedOrigins ?? [])])]
}

function proxies({ httpProxy, httpsProxy, noProxy, proxyNames }: ConfigLayer): Pick<ConfigLayer, 'outboundProxy'> {
  if (httpProxy === undefined && httpsProxy === undefined) return {}
  const servers = {
    ...(httpProxy === undefined ? {} : { http: httpProxy }),
    ...(httpsProxy === undefined ? {} : { https: httpsProxy }),
  }
  return { outboundProxy: { ...servers, direct: noProxy ?? [], names: proxyNames ?? false } }
}
