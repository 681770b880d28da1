import type { HubConfig } from '../config/schema.ts'
import type { HubLog } from '../telemetry/log.ts'
import { startTraces, type Traces } from '../telemetry/traces.ts'

/** Traces, where a collector is configured. At the end the last ones are sent. */
export async function openTraces(
  { otelEndpoint: endpoint, otelHeaders = '', otelServiceName: serviceName, otelRatio: ratio }: HubConfig,
  hubLog: HubLog,
  version: string,
  undo: AsyncDisposableStack,
): Promise<Traces | undefined> {
  if (endpoint === undefined || serviceName === undefined || ratio === undefined) return undefined
  const log = hubLog.with({ component: 'traces' })
  const traces = await startTraces({ endpoint, headers: headersOf(otelHeaders), serviceName, ratio, version, log })
  undo.defer(() => traces.stop())
  return traces
}

/** `name=value` joined by commas, values percent-encoded: the form of W3C Baggage that OpenTelemetry has for headers. */
function headersOf(text: string): Record<string, string> {
  const pairs = text.split(',').map(pair => pair.trim().split('='))
  const named = pairs.flatMap(([name = '', ...rest]) => (name === '' ? [] : [[name, decoded(rest.join('='))] as const]))
  return Object.fromEntries(named)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
