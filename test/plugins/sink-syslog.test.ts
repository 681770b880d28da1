/** Log records at a real rsyslogd: as messages of RFC 5424, over each protocol, and over a time when it is down. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import type { LogRecord } from '../../core/features/log-records.ts'
import type { LogSink } from '../../core/features/log-sinks.ts'
import { StreamCarrier } from '../../plugins/sink-syslog/carriers.ts'
import { cutBytes, syslogMessage } from '../../plugins/sink-syslog/message.ts'
import { SyslogSink } from '../../plugins/sink-syslog/sink.ts'
import { Authority } from '../support/certificates.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { makeRsyslog, type Received } from '../support/rsyslog.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const SENDER = { facility: 16, host: 'box', processId: 7 }
const RECORD: LogRecord = { timestamp: '2026-11-22T09:30:00.000Z', level: 'INFO', message: 'tools/call' }
const text = (record: Partial<LogRecord>): string => syslogMessage({ ...RECORD, ...record }, SENDER).toString()

describe('a message', () => {
  test('has the level as severity, and all other fields as structured data', () => {
    const fields = { component: 'mcp', server: 'time', duration: 12, ok: true, nested: { a: [1] }, none: undefined }
    expect(text(fields)).toBe(
      '<134>1 2026-11-22T09:30:00.000Z box patchbay 7 mcp ' +
        '[patchbay@32473 server="time" duration="12" ok="true" nested="{\\"a\\":[1\\]}"] tools/call',
    )
    for (const [level, severity] of [
      ['ERROR', 3],
      ['WARN', 4],
      ['DEBUG', 7],
      ['TRACE', 7],
    ] as const)
      expect(text({ level })).toStartWith(`<${128 + severity}>1 `)
    expect(text({})).toBe('<134>1 2026-11-22T09:30:00.000Z box patchbay 7 - - tools/call')
  })

  test('cannot be broken by its content', () => {
    expect(text({ server: 'a"b\\c]d', 'na me="]': 'x', component: 'über mcp' })).toBe(
      '<134>1 2026-11-22T09:30:00.000Z box patchbay 7 _ber_mcp ' +
        '[patchbay@32473 server="a\\"b\\\\c\\]d" na_me___="x"] tools/call',
    )
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`field${n}`, '界'.repeat(1_000)]))
    expect(Buffer.byteLength(text(many))).toBeLessThan(1_400)
  })

  test('is cut between characters', () => {
    const whole = Buffer.from(`a${'界'.repeat(10)}`)
    for (let most = 0; most <= whole.length + 1; most += 1) {
      const cut = cutBytes(whole, most)
      expect(cut.length).toBeLessThanOrEqual(most)
      expect(cut.length).toBeGreaterThan(most - 3 - (most > whole.length ? 1 : 0))
      expect(cut.toString()).not.toContain('\ufffd')
    }
  })
})

test('over TLS the certificate is checked, by the authority that is configured', async () => {
  const folder = await makeTemp('syslog-tls')
  const authority = new Authority(folder)
  authority.issue('server', 'IP:127.0.0.1')
  const files = { ca: authority.file, cert: join(folder, 'server.pem'), key: join(folder, 'server.key') }
  await using syslog = await makeRsyslog(files)
  await syslog.start()
  const config = { port: syslog.tcpPort, protocol: 'tls', facility: 'local0' } as const
  const never = new AbortController().signal
  const sinks: SyslogSink[] = []
  const write = async (host: string, ca?: string) => {
    const sink = new SyslogSink({ ...config, host, ...(ca === undefined ? {} : { ca }) })
    sinks.push(sink)
    const { write: send } = sink.contribution as Extract<LogSink, { readonly takes?: 'records' }>
    await send([{ ...RECORD, message: `two lines\nover ${host}` }], never)
  }
  await expect(write('127.0.0.1')).rejects.toMatchObject({ code: 'delivery_failed' })
  await expect(write('localhost', authority.certificate)).rejects.toMatchObject({ code: 'delivery_failed' })
  await write('127.0.0.1', authority.certificate)
  const [only] = await until(async () => ((await syslog.received()).length > 0 ? syslog.received() : undefined))
  expect(only?.msg.trim()).toBe('two lines\\nover 127.0.0.1')
  for (const sink of sinks) sink.close()
  await removeTemp(folder)
}, 120_000)

const calls = (received: readonly Received[]) => received.filter(({ msg }) => msg.trimStart() === 'tools/call')

describe.each(extent(['tcp'] as const, ['udp', 'tcp'] as const).map(one => [one] as const))(
  'a hub that writes to rsyslogd over %s',
  protocol => {
    let syslog: Awaited<ReturnType<typeof makeRsyslog>>
    let hub: Hub
    let admin: Client
    let client: McpClient

    beforeAll(async () => {
      syslog = await makeRsyslog()
      await syslog.start()
      const port = String(protocol === 'udp' ? syslog.udpPort : syslog.tcpPort)
      hub = await startHub({
        settings: { mcpServers: { echo: { ...stdioFixture('echo'), session: 'shared' } } },
        env: {
          ...{ SYSLOG_ENABLED: 'true', SYSLOG_HOST: '127.0.0.1', SYSLOG_PORT: port },
          ...{ SYSLOG_PROTOCOL: protocol, SYSLOG_FACILITY: 'local3' },
        },
      })
      admin = await hub.setup()
      await online(admin, ['echo'])
      client = await admin.mcp('/mcp/echo')
    }, 120_000)
    afterAll(async () => {
      await hub?.stop()
      await syslog?.[Symbol.asyncDispose]()
    }, 120_000)

    const state = async () => {
      const { sinks } = await admin.ok('GET', '/api/admin/logging')
      return sinks.find(({ id }: { id: string }) => id === 'syslog')
    }

    test('every call arrives, with its fields, whatever they contain', async () => {
      for (let n = 0; n < 20; n += 1) expect(await callText(client, 'echo', { text: `${n}` })).toBe(`${n}`)
      await client.callTool({ name: 'odd "] \\ 界\nname', arguments: {} }).catch(() => undefined)
      const seen = await until(async () => {
        const found = calls(await syslog.received())
        return found.length >= 21 ? found : undefined
      })
      expect(seen).toHaveLength(21)
      const [first] = seen
      expect(first).toMatchObject({ pri: String(19 * 8 + 6), app: 'patchbay', msgid: 'mcp', proc: String(hub.pid) })
      for (const part of ['patchbay@32473', 'server="echo"', 'tool="echo"', 'status="success"', 'userId="'])
        expect(first?.data).toContain(part)
      expect(seen.at(-1)?.data).toContain('tool="odd \\"\\] \\\\ 界\\\\nname"')
      // This record is older than the start of the plugins.
      expect((await syslog.received()).some(({ msg }) => msg.includes('The hub is running'))).toBe(true)
      expect(await state()).toMatchObject({ state: 'up', waiting: 0, dropped: { full: 0, rejected: 0, late: 0 } })
      expect(await (await fetch(`${hub.url}/metrics`)).text()).toContain('patchbay_log_sink_up{sink="syslog"} 1\n')
    }, 120_000)

    // Over UDP, nothing reports that rsyslogd is down.
    if (protocol === 'tcp')
      test('records logged while rsyslogd is down arrive when it is up again, in order; each change is logged once', async () => {
        const before = calls(await syslog.received()).length
        await syslog.stop()
        for (let n = 0; n < 30; n += 1) await callText(client, 'echo', { text: 'down' })
        await until(async () => {
          const { state: now, waiting } = await state()
          return now === 'failing' && waiting > 0
        })
        expect((await admin.request('GET', '/health')).json.status).toBe('ok')
        await syslog.start()
        await until(async () => (await state()).state === 'up' && (await state()).waiting === 0, { timeoutMs: 60_000 })
        await until(async () => calls(await syslog.received()).length >= before + 30)
        const received = await syslog.received()
        const said = received.filter(({ msgid }) => msgid === 'sink:syslog').map(({ msg }) => msg.trim())
        expect(said).toEqual(['The log sink takes records again'])
        expect(hub.log().split('The log sink takes no records; they wait')).toHaveLength(2)
      }, 120_000)
  },
)

test('a record arrives over UDP', async () => {
  await using syslog = await makeRsyslog()
  await syslog.start()
  const sink = new SyslogSink({ host: '127.0.0.1', port: syslog.udpPort, protocol: 'udp', facility: 'local0' })
  const { write } = sink.contribution as Extract<LogSink, { readonly takes?: 'records' }>
  await write([{ ...RECORD, message: 'over UDP' }], new AbortController().signal)
  const [only] = await until(async () => ((await syslog.received()).length > 0 ? syslog.received() : undefined))
  expect(only?.msg.trim()).toBe('over UDP')
  sink.close()
})

beyondCore(() => {
  test('a collector that closes each connection, or reads nothing, is a failure and holds nothing', async () => {
    const closing = createServer(socket => socket.destroy())
    await new Promise<void>(resolve => closing.listen(0, '127.0.0.1', resolve))
    const { port } = closing.address() as AddressInfo
    const carrier = new StreamCarrier({ host: '127.0.0.1', port, protocol: 'tcp' })
    const never = new AbortController().signal
    const failures: string[] = []
    // Bytes that the system took count as sent, so the first send may succeed.
    for (let n = 0; n < 20; n += 1) {
      await carrier.send([Buffer.from('x')], never).catch((error: Error) => failures.push(error.message))
      await Bun.sleep(1)
    }
    closing.close()
    carrier.close()
    const silent = createServer({ pauseOnConnect: true }, () => undefined)
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
    const target = { host: '127.0.0.1', port: (silent.address() as AddressInfo).port, protocol: 'tcp' } as const
    const full = new StreamCarrier(target)
    const limit = AbortSignal.timeout(500)
    await expect(full.send([Buffer.alloc(64 * 1024 * 1024)], limit)).rejects.toThrow('the time for it was over')
    full.close()
    silent.close()
    const gone = new StreamCarrier(target)
    await expect(gone.send([Buffer.from('x')], never)).rejects.toMatchObject({ code: 'delivery_failed' })
  })
})
