import { type Cleanup, definePlugin } from 'patchbay/contract'
import type {} from 'patchbay/features'
import { z } from 'zod'
import { Collector } from './collector.ts'

const collector = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .meta({
      title: 'Address',
      description: 'Address of the collector, such as http://127.0.0.1:4318; /v1/logs and /v1/traces are added to it.',
      'x-zh': {
        title: '地址',
        description: '收集器的地址，例如 http://127.0.0.1:4318；其后会加上 /v1/logs 和 /v1/traces。',
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
    .max(255)
    .default('patchbay')
    .meta({
      title: 'Name of the service',
      description: 'The collector shows the data under this name.',
      'x-zh': { title: '服务名称', description: '收集器以此名称显示数据。' },
    }),
})

const traces = collector.extend({
  ratio: z
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .meta({
      title: 'Part of the calls',
      description: 'Part of the tool calls that is traced when the caller does not decide, 0 to 1.',
      'x-zh': { title: '调用比例', description: '调用方未指定时追踪的工具调用比例，0 到 1。' },
    }),
  failures: z
    .boolean()
    .default(false)
    .meta({
      title: 'Failed calls',
      description: 'Sends a span for each failed call that is not traced.',
      'x-zh': { title: '失败的调用', description: '为每个未被追踪的失败调用发送一个 span。' },
    }),
})

const config = z.strictObject({
  logs: collector.optional().meta({
    title: 'Log records',
    description: 'Sends the log records. Without it no record is sent.',
    'x-zh': { title: '日志记录', description: '发送日志记录。未设置则不发送。' },
  }),
  traces: traces.optional().meta({
    title: 'Traces of tool calls',
    description: 'Sends two spans for each traced call. Without it no call is traced.',
    'x-zh': { title: '工具调用的追踪', description: '每个被追踪的调用发送两个 span。未设置则不追踪。' },
  }),
})

/** Sends log records and traces to OpenTelemetry collectors. Loads the SDK, of 30 MB, when one of the two has an address. */
export default definePlugin<z.infer<typeof config>>({
  name: 'otlp',
  contract: 1,
  config,
  async setup({ config: { logs, traces }, contribute, fetch, log, calls }): Promise<Cleanup> {
    if (logs) {
      const { createLogSink } = await import('./logs.ts')
      contribute('logSink', 'otlp', createLogSink(new Collector({ ...logs, fetch }), logs.serviceName))
    }
    if (!traces) return undefined
    const { startTraces } = await import('./traces.ts')
    const started = await startTraces(new Collector({ ...traces, fetch }), { ...traces, log })
    contribute('callTracer', 'otlp', started)
    if (traces.failures) calls.on(call => started.ended(call))
    return () => started.stop()
  },
})
