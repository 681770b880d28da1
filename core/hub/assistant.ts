import { type Assistant, type AssistantDeps, createAssistant } from '../assistant/create.ts'
import type { Auth } from '../auth/create.ts'
import type { HubConfig } from '../config/schema.ts'
import type { PluginHost } from '../plugin-host/host.ts'
import { firstContribution } from '../plugin-host/views.ts'
import type { HubLog } from '../telemetry/log.ts'

/** Parts of which the assistant endpoints consist. */
export interface AssistantParts
  extends Pick<AssistantDeps, 'registry' | 'store' | 'bus' | 'sealer' | 'mcp' | 'instanceId' | 'version'> {
  readonly config: Pick<HubConfig, 'assistantEnabled' | 'assistantApiKey' | 'outboundAllow' | 'outboundProxy'>
  readonly auth: Pick<Auth, 'failedCredentials'>
  readonly plugins: Pick<PluginHost, 'contributions'>
  readonly hubLog: HubLog
  /** Ends them. */
  readonly undo: AsyncDisposableStack
}

/** The endpoints of assistants, as the configuration has them; they are served once they `begin`. */
export function openAssistant({ config, auth, plugins, hubLog, undo, ...rest }: AssistantParts): Assistant {
  const assistant = createAssistant({
    ...rest,
    log: hubLog.with({ component: 'assistant' }),
    failedCredentials: auth.failedCredentials,
    enabled: config.assistantEnabled === true,
    apiKey: config.assistantApiKey,
    outboundAllow: config.outboundAllow,
    outboundProxy: config.outboundProxy,
    bridge: () => firstContribution(plugins.contributions('bridge')),
    hasView: view => [...plugins.contributions('tools').values()].some(set => set.view === view),
  })
  undo.defer(() => assistant.stop(0))
  return assistant
}
