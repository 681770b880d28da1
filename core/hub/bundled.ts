import alertChat from '../../plugins/alert-chat/plugin.ts'
import alertEmail from '../../plugins/alert-email/plugin.ts'
import alertWebhook from '../../plugins/alert-webhook/plugin.ts'
import approvals from '../../plugins/approvals/plugin.ts'
import assistantBridge from '../../plugins/assistant-bridge/plugin.ts'
import bundles from '../../plugins/bundles/plugin.ts'
import clientConfig from '../../plugins/client-config/plugin.ts'
import groups from '../../plugins/groups/plugin.ts'
import guards from '../../plugins/guards/plugin.ts'
import hostedKeys from '../../plugins/hosted-keys/plugin.ts'
import importClients from '../../plugins/import-clients/plugin.ts'
import invitations from '../../plugins/invitations/plugin.ts'
import logDatabase from '../../plugins/log-database/plugin.ts'
import market from '../../plugins/market/plugin.ts'
import marketBundled from '../../plugins/market-bundled/plugin.ts'
import marketJson from '../../plugins/market-json/plugin.ts'
import marketRegistry from '../../plugins/market-registry/plugin.ts'
import oauthClient from '../../plugins/oauth-client/plugin.ts'
import oauthServer from '../../plugins/oauth-server/plugin.ts'
import otlp from '../../plugins/otlp/plugin.ts'
import quotas from '../../plugins/quotas/plugin.ts'
import rankEmbeddings from '../../plugins/rank-embeddings/plugin.ts'
import resultLimits from '../../plugins/result-limits/plugin.ts'
import signIn from '../../plugins/sign-in/plugin.ts'
import sinkSearch from '../../plugins/sink-search/plugin.ts'
import sinkSyslog from '../../plugins/sink-syslog/plugin.ts'
import smartGroup from '../../plugins/smart-group/plugin.ts'
import transportHttp from '../../plugins/transport-http/plugin.ts'
import transportOpenapi from '../../plugins/transport-openapi/plugin.ts'
import transportSse from '../../plugins/transport-sse/plugin.ts'
import transportStdio from '../../plugins/transport-stdio/plugin.ts'
import type { HubConfig } from '../config/schema.ts'
import type { SettingsFile } from '../config/settings-file.ts'
import { SettingsError } from '../config/settings-text.ts'
import type { FileSection } from '../config/shape/sections.ts'
import { isJsonObject, type JsonObject } from '../contract/json.ts'
import type { PluginDefinition } from '../contract/plugin.ts'
import { HOSTED_KEY_PREFIX } from '../domain/server/header-consents.ts'
import type { PluginEntry } from '../plugin-host/resolve.ts'
import type { FormerPlaces } from '../plugin-host/services/kept.ts'

/** The places of secrets that hubs stored for bundled plugins before plugins had places of their own. */
export const FORMER_PLACES: Readonly<Record<string, FormerPlaces>> = {
  [rankEmbeddings.name]: { system: true },
  [hostedKeys.name]: { userPrefix: HOSTED_KEY_PREFIX },
  [market.name]: { folder: 'market' },
  [logDatabase.name]: { stays: 'history' },
}

/** The plugins that come with the hub, in starting order. */
export const bundledPlugins: readonly PluginDefinition<unknown>[] = [
  transportStdio,
  transportHttp,
  transportSse,
  transportOpenapi,
  groups,
  resultLimits,
  clientConfig,
  importClients,
  alertWebhook,
  alertChat,
  alertEmail,
  assistantBridge,
  bundles,
  market,
  marketBundled,
  marketJson,
  marketRegistry,
  smartGroup,
  rankEmbeddings,
  logDatabase,
  sinkSyslog,
  sinkSearch,
  otlp,
  hostedKeys,
  oauthServer,
  oauthClient,
  signIn,
  approvals,
  invitations,
  quotas,
  guards,
]

/** Health checks, metrics and log components of bundled plugins, whether the plugins run or not. */
export const MONITORED = {
  healthChecks: merged(({ healthChecks }) => healthChecks),
  metrics: merged(({ metrics }) => metrics),
  logComponents: bundledPlugins.flatMap(({ logComponents = [] }) => logComponents),
}

/** Sections of other hubs' settings files that an import leaves behind. */
export const LEFT_BEHIND = merged(({ leftBehind }) => leftBehind)

function merged<T>(
  part: (definition: PluginDefinition<unknown>) => Readonly<Record<string, T>> | undefined,
): Readonly<Record<string, T>> {
  return Object.assign({}, ...bundledPlugins.map(part))
}

/** Top-level sections of the settings file that stand for blocks of plugins. They hold no records. */
export const PLUGIN_SECTIONS: readonly FileSection[] = [
  ...new Set(bundledPlugins.flatMap(({ section }) => section?.name ?? [])),
].map(name => ({ kind: `section ${name}`, keys: [name], read: () => [] }))

/** Former names of bundled plugins in settings files, with the configuration in its present form. */
const FORMER_ENTRIES: Readonly<Record<string, (entry: PluginEntry) => PluginEntry>> = {
  'sink-otlp': entry => {
    const { endpoint } = (entry.config ?? {}) as { readonly endpoint?: unknown }
    return { ...entry, use: otlp.name, config: endpoint === undefined ? {} : { logs: entry.config } }
  },
}

/**
 * The entries of the settings file, and those that follow from the configuration. Members of the file's entries take
 * precedence.
 */
export function pluginEntries(entries: readonly PluginEntry[], config: HubConfig): readonly PluginEntry[] {
  const { syslogEnabled, syslogHost: host, syslogPort: port, syslogFacility: facility } = config
  const { syslogProtocol: protocol, syslogCa: caFile, searchEngineUrl: url, searchEngineIndex: index } = config
  const { otelEndpoint: endpoint, otelHeaders = '', otelServiceName: serviceName, otelRatio: ratio } = config
  const given = entries.map(entry => FORMER_ENTRIES[entry.use]?.(entry) ?? entry)
  const own = [
    ...(syslogEnabled ? [{ use: sinkSyslog.name, config: known({ host, port, facility, protocol, caFile }) }] : []),
    ...(url === undefined ? [] : [{ use: sinkSearch.name, config: known({ url, index }) }]),
  ].filter(({ use }) => !given.some(entry => entry.use === use))
  if (endpoint === undefined) return [...given, ...own]
  const traces = known({ endpoint, headers: headersOf(otelHeaders), serviceName, ratio })
  const found = given.find(({ use }) => use === otlp.name)
  const traced = { ...(found ?? { use: otlp.name }), config: { traces, ...(found?.config as object | undefined) } }
  return [...given.filter(entry => entry !== found), ...own, traced]
}

/**
 * The entries of the settings file, with the members of top-level sections in the blocks for which they stand. A member that no
 * plugin of a section names goes to the first of them, which refuses it. Throws SettingsError `settings_duplicate` for one that
 * the block has too.
 */
export function fileEntries({
  document,
  state,
  path,
}: Pick<SettingsFile, 'document' | 'state' | 'path'>): PluginEntry[] {
  let entries: PluginEntry[] = [...state.plugins]
  for (const { name: use, section } of bundledPlugins) {
    const own = section && membersFor(use, section, document, path)
    if (!own || Object.keys(own).length === 0) continue
    const present = entries.find(entry => entry.use === use)
    const block = isJsonObject(present?.config) ? present.config : {}
    const twice = Object.keys(own).find(key => Object.hasOwn(block, key))
    if (twice !== undefined) {
      const text = `"${twice}" is in the section "${section.name}" and in the block of the plugin "${use}"; leave one of them out`
      throw new SettingsError('settings_duplicate', path, text)
    }
    const changed = { ...present, use, config: { ...block, ...own } }
    entries = present ? entries.map(entry => (entry === present ? changed : entry)) : [...entries, changed]
  }
  return entries
}

/** The members of a section that stand for those of a plugin's block. */
function membersFor(
  use: string,
  { name, members }: NonNullable<PluginDefinition['section']>,
  document: JsonObject,
  path: string,
): JsonObject {
  const given = document[name] ?? {}
  if (!isJsonObject(given)) throw new SettingsError('settings_json', path, `"${name}" is not an object`)
  const sharing = bundledPlugins.filter(({ section }) => section?.name === name)
  const isFirst = sharing[0]?.name === use
  const ofNone = (key: string) => !sharing.some(({ section }) => section?.members.includes(key))
  return Object.fromEntries(Object.entries(given).filter(([key]) => members.includes(key) || (isFirst && ofNone(key))))
}

function known(config: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))
}

/** `name=value` joined by commas, values percent-encoded: the form of W3C Baggage that OpenTelemetry has for headers. */
function headersOf(text: string): Record<string, string> {
  const pairs = text.split(',').map(pair => pair.trim().split('='))
  return Object.fromEntries(
    pairs.flatMap(([name = '', ...rest]) => (name === '' ? [] : [[name, decoded(rest.join('='))] as const])),
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
