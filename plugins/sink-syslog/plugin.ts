import { readFile } from 'node:fs/promises'
import { definePlugin } from 'patchbay/contract'
import { type SyslogConfig, syslogConfig } from './config.ts'
import { SyslogSink } from './sink.ts'

/** Sends log records to a syslog collector (RFC 5424). Without a host it does nothing. */
export default definePlugin<SyslogConfig>({
  name: 'sink-syslog',
  contract: 1,
  config: syslogConfig,
  async setup(context) {
    const { host, caFile, ...config } = context.config
    if (host === undefined) return undefined
    const trusted = caFile === undefined ? {} : { ca: await readFile(caFile, 'utf8') }
    const sink = new SyslogSink({ ...config, ...trusted, host })
    context.contribute('logSink', 'syslog', sink.contribution)
    return () => sink.close()
  },
})
