import { expect } from 'bun:test'
import type { Client } from './client.ts'
import { stdioFixture } from './hub.ts'
import { startReceiver } from './receiver.ts'
import { online } from './servers.ts'
import { until } from './wait.ts'

const SILENT_MS = 15_000
const INTERVAL_MS = 20_000

/**
 * A rule that fires at once for a lost server, under a silence: no message is sent while it lasts, one at its end, with
 * `repeats` one more after the interval of the rule.
 */
export async function silencedAlert(user: Client, repeats: boolean): Promise<void> {
  const receiver = startReceiver()
  const kinds = (): string[] => receiver.received.map(({ json }) => json.kind)
  const base = '/api/monitoring'
  try {
    await user.ok('POST', '/api/servers', { name: 'lost', ...stdioFixture('echo') })
    await online(user, ['lost'])
    await user.ok('POST', `${base}/channels`, { name: 'quiet', type: 'webhook', config: { url: receiver.url } })
    const endsAtMs = Date.now() + SILENT_MS
    const silence = { rule: 'gone', endsAt: new Date(endsAtMs).toISOString() }
    await user.ok('POST', `${base}/silences`, silence)
    const rule = { name: 'gone', condition: 'server_status{server="lost"} == offline', severity: 'warning' }
    await user.ok('POST', `${base}/rules`, {
      ...rule,
      channels: ['quiet'],
      duration: '0s',
      repeatInterval: `${INTERVAL_MS / 1_000}s`,
    })
    const firing = async () => (await user.ok('GET', `${base}/alerts?state=firing`)).items
    // A server that has only begun to start is not offline yet; one that was online is.
    await user.ok('PATCH', '/api/servers/lost', { command: '/nowhere/at-all', args: [] })
    const [alert] = await until(async () => ((await firing()).length > 0 ? firing() : undefined), { timeoutMs: 60_000 })
    expect(alert).toMatchObject({ rule: 'gone' })
    await until(() => receiver.received.length > 0, { timeoutMs: 60_000, what: 'the message after the silence' })
    expect(Date.now()).toBeGreaterThanOrEqual(endsAtMs)
    expect(kinds()).toEqual(['fired'])
    if (repeats) {
      await until(() => receiver.received.length > 1, { timeoutMs: 100_000, what: 'the repeat' })
      expect(receiver.received[1]?.json).toMatchObject({ kind: 'repeat', instances: [{ incident: alert.id }] })
    }
  } finally {
    await user.ok('DELETE', `${base}/rules/gone`)
    await user.ok('DELETE', `${base}/channels/quiet`)
    await user.ok('DELETE', '/api/servers/lost')
    receiver.stop()
  }
}
