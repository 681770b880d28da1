import { expect, test } from 'bun:test'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventBus } from '../../../core/events/bus.ts'
import type { LogRecord } from '../../../core/features/log-records.ts'
import type { LogBatch } from '../../../core/features/log-store.ts'
import { Redactor } from '../../../core/secrets/redact.ts'
import { ServerRedactors } from '../../../core/secrets/server-redactors.ts'
import type { EndedCall } from '../../../core/telemetry/calls/ended-call.ts'
import { HubLog } from '../../../core/telemetry/log.ts'
import { linesOf } from '../../../core/telemetry/record-blocks.ts'

type Written = readonly { readonly ownerId: string | null; readonly record: LogRecord }[]

async function logged(
  write: (log: HubLog, records: Written) => void | Promise<void>,
  format: 'json' | 'pretty' = 'json',
) {
  const folder = await mkdtemp(join(tmpdir(), 'log-'))
  const file = join(folder, 'hub.log')
  const bus = new EventBus(() => {})
  const records: { ownerId: string | null; record: LogRecord }[] = []
  bus.on('log.record', event => records.push({ ownerId: event.ownerId, record: event.data }))
  const redactor = new Redactor()
  redactor.add('s3cret-1')
  const servers = new ServerRedactors()
  servers.hold('server-1', ['secret of server 1'])
  const log = await HubLog.open({ level: 'info', format, file, redactor, servers, bus })
  await write(log, records)
  await log.end()
  const text = await readFile(file, 'utf8')
  const mode = (await stat(file)).mode & 0o777
  await rm(folder, { recursive: true })
  return { text, lines: text.trimEnd().split('\n'), records, mode }
}

test('a record has the form of the specification, one line each, in a file that only its owner reads', async () => {
  const { lines, mode } = await logged(log => log.with({ server: 'time' }).warn('two\nlines', { requestId: 'r1' }))
  expect(lines).toHaveLength(1)
  const record = JSON.parse(lines[0]!)
  expect(record).toMatchObject({ level: 'WARN', message: 'two\nlines', server: 'time', requestId: 'r1' })
  expect(record.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(mode).toBe(0o600)
})

test('secrets are taken out, bidi and line-end characters escaped, in both formats', async () => {
  for (const format of ['json', 'pretty'] as const) {
    const { text } = await logged(log => log.with().info('key s3cret-1 \u2028 \u202e'), format)
    expect(text).not.toContain('s3cret')
    expect(text).not.toContain('\u2028')
    expect(text).not.toContain('\u202e')
  }
})

test('secrets are taken out of what goes to listeners too, by value and by key, before anything is cut', async () => {
  const { text, records } = await logged(log => {
    log.with({ server: 'a' }).error('told s3cret-1', {
      error: new Error('failed with s3cret-1'),
      headers: { authorization: 'Bearer of somebody', 'x-list': ['s3cret-1'] },
      // One secret lies across the place where a field is cut.
      long: `${'x'.repeat(8 * 1024 - 4)}s3cret-1`,
    })
    log.with().info(`${'x'.repeat(8 * 1024 - 4)}s3cret-1`)
  })
  const told = JSON.stringify(records)
  for (const leaked of ['s3cret', 's3cr', 'of somebody']) {
    expect(told).not.toContain(leaked)
    expect(text).not.toContain(leaked)
  }
  expect(records[0]?.record).toMatchObject({ message: 'told [redacted]', headers: { authorization: '[redacted]' } })
})

test('a field cannot take the place of level, time or message', async () => {
  const { lines } = await logged(log => log.with().warn('kept', { level: 'uid', timestamp: 'never', message: 'other' }))
  expect(lines[0]?.match(/"level":/g)).toHaveLength(1)
  const names = { field_level: 'uid', field_timestamp: 'never', field_message: 'other' }
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'WARN', message: 'kept', ...names })
})

test('a record of what JSON does not know is written as text, and one without fields too', async () => {
  const { lines } = await logged(log => {
    log.with().info('big', { n: 12_345_678_901_234_567_890n, deep: { list: [1n, undefined, Number.NaN] } })
    log.with().info('bare')
  })
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ n: '12345678901234567890', deep: { list: ['1', null, null] } })
  expect(Object.keys(JSON.parse(lines[1] ?? ''))).toEqual(['level', 'timestamp', 'message'])
})

test('ownerId says who may read a record and is not written', async () => {
  const { lines, records } = await logged(log => log.with({ ownerId: 'u1' }).info('mine'))
  expect(records).toEqual([{ ownerId: 'u1', record: expect.objectContaining({ message: 'mine' }) }])
  expect(lines[0]).not.toContain('u1')
})

test('fields of a record replace those of the logger, its reader too, and none at all change nothing', async () => {
  const { lines, records } = await logged(log => {
    const logger = log.with({ component: 'plugin:a', ownerId: 'u1', tool: 'first' })
    logger.info('1', { tool: 'second', requestId: 'r1' })
    logger.info('2', { tool: undefined, ownerId: undefined })
    logger.info('3', null as unknown as Record<string, unknown>)
  })
  const [first = '', second = '', third = ''] = lines
  expect(first).toEndWith('"component":"plugin:a","tool":"second","requestId":"r1","message":"1"}')
  expect(second).toEndWith('"component":"plugin:a","message":"2"}')
  expect(third).toEndWith('"component":"plugin:a","tool":"first","message":"3"}')
  expect(records.map(({ ownerId }) => ownerId)).toEqual(['u1', null, 'u1'])
})

test('a level below the configured one is not written, and long fields are cut with a mark', async () => {
  const { lines } = await logged(log => {
    log.with().debug('hidden')
    log.with().info('long', { text: 'x'.repeat(9_000) })
  })
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!).text).toEndWith('… (808 more characters)')
})

test('the record of a call is written as any other is', async () => {
  const record: EndedCall = {
    at: '2026-01-01T00:00:00.000Z',
    requestId: 'r1',
    userId: 'u1',
    userName: 'alice',
    ownerId: 'o1',
    serverId: 's1',
    server: 'time "s3cret-1" \u202e',
    group: 'work\n',
    groupId: 'g',
    tool: `${'x'.repeat(9_000)}`,
    durationMs: 12.6,
    outcome: 'ok',
    status: 'success',
  }
  for (const format of ['json', 'pretty'] as const) {
    const { lines, records } = await logged(log => {
      log.call(record)
      const { server, serverId, tool, status, outcome, requestId, userId, group, groupId } = record
      const names = { server, serverId, tool, duration: 13, status, outcome, requestId, userId, group, groupId }
      log.with({ component: 'mcp', ...names, ownerId: 'o1' }).info('tools/call')
    }, format)
    const [call, other] = lines.map(line => line.replaceAll(/\d\d:\d\d:\d\d\.\d{3}/g, ''))
    expect(call).toBe(other as string)
    expect({ ...records[0]?.record, timestamp: '' }).toEqual({ ...(records[1]?.record as LogRecord), timestamp: '' })
    expect(records[0]?.ownerId).toBe('o1')
  }
})

test('a sink that logs while it is handed a record changes nothing of that record for the others', async () => {
  const sent: string[] = []
  const queue = { maxRecords: 10, maxBytes: 9_999, maxBatch: 1, changed() {} }
  const { lines } = await logged(async log => {
    const told = log.with()
    let isFirst = true
    const send = (batch: LogBatch) => {
      if (isFirst) told.info('of the sink')
      isFirst = false
      return Promise.resolve({ rejected: batch.ends.length - 1 })
    }
    log.feed.add('talks', { ...queue, send })
    log.feed.add('other', {
      ...queue,
      send: batch => {
        sent.push(...linesOf(batch))
        return Promise.resolve({ rejected: 0 })
      },
    })
    told.info('the record')
    told.info('the next one')
    await log.feed.remove('other', 1_000)
  })
  const messages = (all: readonly string[]) => all.map(line => JSON.parse(line).message)
  expect(messages(lines)).toEqual(['the record', 'of the sink', 'the next one'])
  expect(messages(sent).sort()).toEqual(['of the sink', 'the next one', 'the record'])
})

test('a field called __proto__ is one as any other: it gives a record no level of its own', async () => {
  const { lines, records } = await logged(log =>
    log.with().info('plain', JSON.parse('{"__proto__":{"level":"ERROR","forged":"yes"},"a":1}')),
  )
  expect(lines[0]).toMatch(/^\{"level":"INFO","timestamp":"[^"]+","__proto__":\{[^}]+\},"a":1,"message":"plain"\}$/)
  expect(records[0]?.record).toMatchObject({ level: 'INFO', a: 1 })
  expect(records[0]?.record).not.toHaveProperty('forged')
})

test('a field that takes the name of a reserved one is not written twice', async () => {
  const { lines, records } = await logged(log =>
    log.with({ field_level: 'own' }).info('plain', { level: 'given', message: 'm', field_message: 'own too' }),
  )
  expect(lines[0]).toMatch(/"field_level":"own","field_message":"own too","message":"plain"\}$/)
  expect(lines[0]!.match(/"field_/g)).toHaveLength(2)
  expect(records[0]?.record).toMatchObject({ level: 'INFO', message: 'plain', field_level: 'own' })
})

test('a field that logs while it becomes JSON, or throws, spoils no record', async () => {
  const { lines } = await logged(log => {
    const inner = log.with({ component: 'inner' })
    const talks = {
      toJSON() {
        inner.info('of the field')
        return 'said'
      },
    }
    const throws = {
      toJSON() {
        throw new Error('no JSON')
      },
    }
    log.with({ component: 'outer' }).info('of the record', { a: 1, talks, b: 2 })
    expect(() => log.with().info('never', { a: 1, throws })).toThrow('no JSON')
    log.with().info('the next')
  })
  expect(lines.map(line => JSON.parse(line).message)).toEqual(['of the field', 'of the record', 'the next'])
  expect(JSON.parse(lines[1]!)).toMatchObject({ component: 'outer', a: 1, talks: 'said', b: 2 })
})

function refused(userId: string, status: string): EndedCall {
  return {
    ...{ at: '2026-01-01T00:00:00.000Z', requestId: 'r', userId, userName: userId, ownerId: userId },
    ...{ serverId: '', server: '', group: 'g', groupId: 'g', tool: 't', durationMs: 1, keyId: 'k1' },
    ...{ outcome: 'refused', status },
  }
}

test('sinks get each record as JSON with those who may read it, whatever the format of the lines', async () => {
  const sent: LogBatch[] = []
  const send = async (batch: LogBatch) => {
    sent.push(batch)
    return { rejected: 0 }
  }
  await logged(async log => {
    log.feed.add('x', { maxRecords: 10, maxBytes: 9_999, maxBatch: 10, send, changed() {} })
    log.with({ ownerId: 'u1' }).info('mine s3cret-1')
    log.with().info('of the hub')
    log.call({ ...refused('u2', 'tool_not_found'), tool: 'nothing s3cret-1' })
    await log.feed.remove('x', 1_000)
  }, 'pretty')
  expect(sent.map(batch => batch.readers)).toEqual([['u1', '', 'u2']])
  const records = linesOf(sent[0] as LogBatch).map(line => JSON.parse(line))
  expect(records).toMatchObject([
    { message: 'mine [redacted]' },
    { message: 'of the hub' },
    { message: 'tools/call', tool: 'nothing [redacted]', code: 'tool_not_found', keyId: 'k1' },
  ])
})

test('calls of one user beyond 200 a second are one record a second for each server, tool and outcome; others lose none', async () => {
  const sent: EndedCall = {
    ...refused('u1', 'success'),
    ...{ outcome: 'ok', ownerId: 'o1', serverId: 's1', server: 'time', group: 'work', tool: 'now' },
  }
  const failed = { outcome: 'upstream_error', status: 'error' } as const
  let counted = 0
  const { lines, records } = await logged(async log => {
    log.onCounted(() => {
      counted += 1
    })
    for (let index = 0; index < 1_500; index += 1) log.call(refused('eve', 'quota_calls'))
    for (let index = 0; index < 1_000; index += 1)
      log.call({ ...sent, requestId: `r${index}`, durationMs: index, ...(index % 10 === 0 ? failed : {}) })
    log.call(refused('ann', 'quota_calls'))
  })
  expect(counted).toBe(2_501)
  const all = lines.map(line => JSON.parse(line))
  const sum = (userId: string) =>
    all.filter(each => each.userId === userId).reduce((total, each) => total + (each.count ?? 1), 0)
  expect([sum('eve'), sum('u1'), sum('ann')]).toEqual([1_500, 1_000, 1])
  const [ofEve, ofFailed, ofCalls] = all.filter(each => each.count > 1)
  expect(ofEve).toMatchObject({
    ...{ level: 'ERROR', code: 'quota_calls', group: 'g', count: 1_300, errors: 1_300, outcomes: { refused: 1_300 } },
  })
  expect(ofCalls).toMatchObject({
    ...{ level: 'INFO', server: 'time', tool: 'now', userId: 'u1', status: 'success', outcome: 'ok' },
    ...{ count: 720, errors: 0, outcomes: { ok: 720 }, duration: 999 },
  })
  expect(ofFailed).toMatchObject({
    ...{ level: 'ERROR', server: 'time', tool: 'now', status: 'error', outcome: 'upstream_error' },
    ...{ count: 80, errors: 80, outcomes: { upstream_error: 80 }, duration: 990 },
  })
  expect(ofCalls.durationTotal + ofFailed.durationTotal).toBe((200 + 999) * 400)
  expect([ofCalls.code, ofCalls.requestId]).toEqual([undefined, undefined])
  expect(lines.length).toBe(404)
  expect(records.find(({ record }) => record.count === 720)?.ownerId).toBe('o1')
})

test('calls of many servers, tools and outcomes are at most 101 records a second beyond the first 200', async () => {
  const { lines } = await logged(async log => {
    for (let index = 0; index < 5_000; index += 1) {
      const failed = index % 2 === 0
      log.call({
        ...refused('u1', failed ? (index % 4 === 0 ? 'error' : 'upstream_offline') : 'success'),
        ...{ outcome: failed ? 'upstream_error' : 'ok', ownerId: 'o1', server: 's', tool: `t${index % 7}` },
        serverId: `s${index % 150}`,
      })
    }
  })
  const all = lines.map(line => JSON.parse(line))
  expect(all.reduce((total, each) => total + (each.count ?? 1), 0)).toBe(5_000)
  expect(all.length).toBe(301)
  const rest = all.find(each => Object.keys(each.outcomes ?? {}).length === 2 && each.serverId === undefined)
  expect(rest).toMatchObject({ level: 'ERROR', status: 'error', userId: 'u1' })
  expect([rest.tool, rest.outcome]).toEqual([undefined, undefined])
})
