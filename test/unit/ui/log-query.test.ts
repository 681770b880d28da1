/** The query box of the log: the terms it reads, the place of a mistake, and the condition for the search. */
import { describe, expect, test } from 'bun:test'
import type { LogRecord } from '../../../plugins/log-database/console/api.ts'
import { conditionOf, meetsTerm, parseQuery, termText } from '../../../plugins/log-database/console/query.ts'

const conditions = (text: string) => parseQuery(text).terms.map(conditionOf)
const mistake = (text: string) => parseQuery(text).mistake

const record: LogRecord = {
  ...{ timestamp: '2026-11-22T09:30:00.000Z', level: 'WARN', message: 'Connection refused by peer', server: 'GitHub' },
  ...{ tool: 'search', duration: 1500, status: 'error', requestId: 'Req-1', component: 'mcp', serverId: 'server-1' },
}
const tagged = new Map([
  ['prod', new Set(['server-1'])],
  ['night', new Set(['group-1'])],
])
const meets = (text: string): boolean => parseQuery(text).terms.every(term => meetsTerm(record, term, tagged))

describe('parseQuery()', () => {
  test('turns words, phrases, fields, comparisons and choices into conditions', () => {
    expect(conditions('timeout "connection refused"')).toEqual([{ text: 'timeout' }, { text: 'connection refused' }])
    expect(conditions('level:warn -server:figma')).toEqual([{ level: 'WARN' }, { not: { server: 'figma' } }])
    expect(conditions('duration:>=2s level:(ERROR or warn)')).toEqual([
      { duration: { gte: 2000 } },
      { level: { in: ['ERROR', 'WARN'] } },
    ])
    expect(conditions('SERVER:"ann~my server" a=b')).toEqual([{ server: 'ann~my server' }, { text: 'a=b' }])
    expect(conditions('   ')).toEqual([])
  })

  test('says where a mistake is and what to write, and keeps the terms before it', () => {
    const parsed = parseQuery('level:INFO server=github')
    expect(parsed.terms.map(conditionOf)).toEqual([{ level: 'INFO' }])
    expect(parsed.mistake).toEqual({ position: 18, kind: 'equals', found: '=', instead: 'server:github' })
    expect(mistake('sever:github')).toEqual({ position: 1, kind: 'field', found: 'sever', instead: 'server:' })
    expect(mistake('ok level:WRONG')).toMatchObject({ position: 10, kind: 'level', instead: 'level:WARN' })
    expect(mistake('a "b c')).toEqual({ position: 3, kind: 'quote', found: '"' })
    expect(mistake('server:(a or b')).toMatchObject({ position: 8, kind: 'bracket' })
    expect(mistake('server: x')).toMatchObject({ position: 8, kind: 'empty' })
    expect(mistake('duration:fast')).toMatchObject({ position: 10, kind: 'duration' })
    expect(mistake('timestamp:>=soon')).toMatchObject({ position: 13, kind: 'time' })
    expect(mistake('(a or b)')).toMatchObject({ position: 1, kind: 'choice' })
    expect(mistake(`x${' y'.repeat(100)}`)).toMatchObject({ position: 201, kind: 'long' })
  })

  test('ends on every text without throwing', () => {
    const characters = ['a', '"', '(', ')', ':', '=', '-', ' ', '>', 'level', 'or', '中', '\u0000']
    for (let seed = 1; seed < 3000; seed += 1) {
      let text = ''
      for (let at = seed; at > 0; at = Math.floor(at / 13)) text += characters[at % 13]
      const { terms, mistake: found } = parseQuery(text)
      expect(terms.length > 0 || found !== undefined || text.trim() === '').toBe(true)
      if (found) expect(found.position).toBeGreaterThan(0)
    }
  })
})

describe('meetsTerm()', () => {
  test('decides of a live record what the search decides of a stored one', () => {
    for (const text of [
      'refused',
      'GITHUB',
      'server:github',
      'server:ann~github',
      'level:>=WARN',
      'level:(ERROR or WARN)',
      'tag:PROD',
      'tag:(night or prod)',
      '-tag:night',
    ])
      expect([text, meets(text)]).toEqual([text, true])
    for (const text of ['duration:>1s', '-tool:ping', 'timestamp:>=2026-11-22', 'message:"connection refused by peer"'])
      expect([text, meets(text)]).toEqual([text, true])
    for (const text of [
      'level:ERROR',
      '-refused',
      'server:hub',
      'duration:<1s',
      'tool:searc',
      'level:>WARN',
      'code:x',
      'tag:night',
      'tag:none',
    ])
      expect([text, meets(text)]).toEqual([text, false])
  })
})

test('termText() writes terms that parseQuery() reads back', () => {
  for (const value of ['github', 'two words', '-5', 'a(b', 'x:y', '中文']) {
    const { terms, mistake: found } = parseQuery(termText('server', value, true))
    expect(found).toBeUndefined()
    expect(terms[0]).toMatchObject({ field: 'server', values: [value], excluded: true })
  }
})
