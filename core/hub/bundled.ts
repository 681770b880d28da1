import alertChat from '../../plugins/alert-chat/plugin.ts'
import alertEmail from '../../plugins/alert-email/plugin.ts'
import alertWebhook from '../../plugins/alert-webhook/plugin.ts'
import assistantBridge from '../../plugins/assistant-bridge/plugin.ts'
import clientConfig from '../../plugins/client-config/plugin.ts'
import groups from '../../plugins/groups/plugin.ts'
import hostedKeys from '../../plugins/hosted-keys/plugin.ts'
import importClients from '../../plugins/import-clients/plugin.ts'
import marketBundled from '../../plugins/market-bundled/plugin.ts'
import marketJson from '../../plugins/market-json/plugin.ts'
import marketRegistry from '../../plugins/market-registry/plugin.ts'
import rankEmbeddings from '../../plugins/rank-embeddings/plugin.ts'
import resultLimits from '../../plugins/result-limits/plugin.ts'
import sinkOtlp from '../../plugins/sink-otlp/plugin.ts'
import sinkSearch from '../../plugins/sink-search/plugin.ts'
import sinkSyslog from '../../plugins/sink-syslog/plugin.ts'
import smartGroup from '../../plugins/smart-group/plugin.ts'
import transportHttp from '../../plugins/transport-http/plugin.ts'
import transportOpenapi from '../../plugins/transport-openapi/plugin.ts'
import transportSse from '../../plugins/transport-sse/plugin.ts'
import transportStdio from '../../plugins/transport-stdio/plugin.ts'
import { LIMITS } from '../config/limits.ts'
import type { HubConfig } from '../config/schema.ts'
import type { PluginDefinition } from '../contract/plugin.ts'
import { HOSTED_KEY_PREFIX } from '../domain/server/header-consents.ts'
import type { PluginEntry } from '../plugin-host/resolve.ts'
import type { FormerPlaces } from '../plugin-host/services/kept.ts'

/** The places of secrets that hubs stored for bundled plugins before plugins had places of their own. */
export const FORMER_PLACES: Readonly<Record<string, FormerPlaces>> = {
  [rankEmbeddings.name]: { system: true },
  [hostedKeys.name]: { userPrefix: HOSTED_KEY_PREFIX },
}

/** The plugins that come with the hub, in starting order. */
export const bundledPlugins: readonly PluginDefinition<unknown>[] = [
  transportStdio,
  transportHttp,
  transportSse,
  transportOpenapi,
  groups,
  resultLimits(LIMITS),
  clientConfig,
  importClients,
  alertWebhook,
  alertChat,
  alertEmail,
  assistantBridge,
  marketBundled,
  marketJson,
  marketRegistry,
  smartGroup,
  rankEmbeddings,
  sinkSyslog,
  sinkSearch,
  sinkOtlp,
  hostedKeys,
]

/** The entries of the settings file, and those that follow from the configuration; entries of the file take precedence. */
export function pluginEntries(entries: readonly PluginEntry[], config: HubConfig): readonly PluginEntry[] {
  const { syslogEnabled, syslogHost: host, syslogPort: port, syslogFacility: facility } = config
  const { syslogProtocol: protocol, syslogCa: caFile, searchEngineUrl: url, searchEngineIndex: index } = config
  const own = [
    ...(syslogEnabled ? [{ use: sinkSyslog.name, config: given({ host, port, facility, protocol, caFile }) }] : []),
    ...(url === undefined ? [] : [{ use: sinkSearch.name, config: given({ url, index }) }]),
  ]
  return [...entries, ...own.filter(({ use }) => !entries.some(entry => entry.use === use))]
}

function given(config: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))
}
