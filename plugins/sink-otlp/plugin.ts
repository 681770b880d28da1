import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import { OtlpSink } from './sink.ts'

const config = z.strictObject({
  /** Of a collector, such as `http://127.0.0.1:4318`; records are sent to `/v1/logs` below it. Without it nothing is sent. */
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
  /** Sent with every request, such as an API key. */
  headers: z.record(z.string().regex(/^[\w-]{1,64}$/), z.string().max(4_096)).default({}),
  serviceName: z.string().min(1).max(128).default('patchbay'),
})

/** Sends log records to an OpenTelemetry collector. Without its address it does nothing. */
export default definePlugin<z.infer<typeof config>>({
  name: 'sink-otlp',
  contract: 1,
  config,
  setup({ config: { endpoint, headers, serviceName }, contribute, fetch }) {
    if (endpoint !== undefined)
      contribute('logSink', 'otlp', new OtlpSink({ endpoint, headers, serviceName, fetch }).contribution)
    return undefined
  },
})
