import { describe, expect, test } from 'bun:test'
import { metricName } from '../../../core/domain/alerts/metrics.ts'
import { severityOf } from '../../../core/domain/log/log-query.ts'
import { wordIn } from '../../../core/domain/spelling/words.ts'
import { parseTime } from '../../../core/domain/timestamp.ts'

const KINDS = ['webhook', 'chat', 'email'] as const
const TRANSPORTS = ['stdio', 'sse', 'streamable-http', 'openapi'] as const

describe('wordIn()', () => {
  test.each([
    [TRANSPORTS, 'SSE', 'sse'],
    [TRANSPORTS, 'OpenAPI', 'openapi'],
    [TRANSPORTS, 'Streamable-HTTP', 'streamable-http'],
    [TRANSPORTS, 'streamable_http', 'streamable-http'],
    [TRANSPORTS, 'streamableHttp', 'streamable-http'],
    [TRANSPORTS, 'STDIO', 'stdio'],
    [['private', 'public'], 'Public', 'public'],
    [['private', 'public'], 'not public', 'private'],
    [['warning', 'critical'], 'WARNING', 'warning'],
    [['warning', 'critical'], 'warn', 'warning'],
    [['error', 'warn'], 'Warning', 'warn'],
    [KINDS, 'chatWebhook', 'chat'],
    [KINDS, 'genericWebhook', 'webhook'],
    [KINDS, 'Slack', 'chat'],
    [KINDS, 'chat webhook', 'chat'],
    [['single-stat', 'line-chart'], 'singleStat', 'single-stat'],
  ] as const)('of %j takes %p', (known, text, word) => {
    expect(wordIn(known, text)).toBe(word)
  })

  test.each(['', '-', 'webhooks', 'constructor', '__proto__', 'e-mail-', 'pigeon'])('refuses %p', text => {
    expect(wordIn(['webhook', 'chat'], text)).toBeUndefined()
  })

  test('a word that is known is itself, before it is another one’s synonym', () => {
    expect(wordIn(['chat', 'slack'], 'slack')).toBe('slack')
    expect(wordIn(['warn', 'warning'], 'warning')).toBe('warning')
  })
})

test.each([
  ['errorRate', 'error_rate'],
  ['avgResponseTime', 'avg_response_time'],
  ['averageResponseTime', 'avg_response_time'],
  ['p95ResponseTime', 'p95_response_time'],
  ['serverStatus', 'server_status'],
  ['ERROR_RATE', 'error_rate'],
  ['custom.orders', 'custom.orders'],
  ['errors', undefined],
])('metricName(%p) is %p', (text, name) => expect(metricName(text)).toBe(name))

test('severityOf() takes a level in any letter case, and WARNING', () => {
  expect(['warn', 'Warning', 'WARN', 'Error', 'panic'].map(severityOf)).toEqual([40, 40, 40, 50, undefined])
})

test('parseTime() reads a time relative to now, and refuses other texts', () => {
  const nowMs = Date.parse('2026-11-22T10:00:00Z')
  const at = (text: string) => parseTime(text, nowMs)
  expect([at('now'), at('now-1h'), at('NOW-15m'), at('now+30d'), at('2026-11-22T09:00:00Z')]).toEqual([
    nowMs,
    nowMs - 3_600_000,
    nowMs - 900_000,
    nowMs + 30 * 86_400_000,
    nowMs - 3_600_000,
  ])
  for (const text of ['now-', 'now-5', 'now-1y', 'now1h', '-1h', `now-${'9'.repeat(15)}d`, 'nowhere'])
    expect([text, at(text)]).toEqual([text, undefined])
})
