import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
import { OtlpSink } from './sink.ts'

const config = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      title: 'Address',
      description:
        'Of a collector, such as http://127.0.0.1:4318; records are sent to /v1/logs below it. Without it nothing is sent.',
      'x-zh': {
        title: '地址',
        description: '收集器的地址，例如 http://127.0.0.1:4318；记录发送到其下的 /v1/logs。留空则不发送。',
      },
    }),
  headers: z
    .record(z.string().regex(/^[\w-]{1,64}$/), z.string().max(4_096))
    .default({})
    .meta({
      title: 'Headers',
      description: 'Sent with every request, such as an API key.',
      'x-zh': { title: '请求头', description: '随每次请求发送，例如 API 密钥。' },
    }),
  serviceName: z
    .string()
    .min(1)
    .max(128)
    .default('patchbay')
    .meta({
      title: 'Name of the service',
      description: 'Under which the collector shows the records.',
      'x-zh': { title: '服务名称', description: '收集器以此名称显示记录。' },
    }),
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
