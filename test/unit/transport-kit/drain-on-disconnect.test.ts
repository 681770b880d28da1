import { describe, expect, test } from 'bun:test'
import type { WireError } from '../../../core/contract/errors.ts'
import { DrainOnDisconnect } from '../../../core/transport-kit/drain-on-disconnect.ts'
import { until } from '../../support/wait.ts'

const GONE: WireError = { code: 'connection_lost', message: 'The server is gone' }
const LATER: WireError = { code: 'upstream_tls_error', message: 'Something else' }

function linkWith(...messages: string[]) {
  const underWay = new Set(messages)
  const ended: WireError[] = []
  return { underWay, ended, lastWords: new DrainOnDisconnect(underWay, reason => ended.push(reason)) }
}

describe('DrainOnDisconnect', () => {
  test('end a link at once that has nothing under way', () => {
    const { lastWords, ended } = linkWith()
    expect(lastWords.begin(GONE)).toBe(true)
    expect([ended, lastWords.over]).toEqual([[GONE], true])
  })

  test('wait for the last message under way, and the first reason is the one that counts', () => {
    const { lastWords, ended, underWay } = linkWith('a', 'b')
    lastWords.settled()
    expect(lastWords.begin(GONE)).toBe(true)
    expect(lastWords.begin(LATER)).toBe(false)
    underWay.delete('a')
    lastWords.settled()
    expect([ended, lastWords.over, lastWords.reason]).toEqual([[], false, GONE])
    underWay.delete('b')
    lastWords.settled()
    lastWords.settled()
    expect([ended, lastWords.over]).toEqual([[GONE], true])
  })

  test('do not wait for ever', async () => {
    const { lastWords, ended } = linkWith('hangs')
    lastWords.begin(GONE)
    await until(() => lastWords.over, { what: 'the end' })
    expect(ended).toEqual([GONE])
  })

  test('are cut short by the end of what carried the messages', () => {
    const { lastWords, ended } = linkWith('a')
    lastWords.begin(GONE)
    lastWords.end(LATER)
    lastWords.end(GONE)
    expect(ended).toEqual([LATER])
  })

  test('are none where the owner has stopped the link', () => {
    const { lastWords, ended, underWay } = linkWith('a')
    lastWords.begin(GONE)
    lastWords.stop()
    underWay.delete('a')
    lastWords.settled()
    lastWords.end(GONE)
    expect([ended, lastWords.begin(LATER), lastWords.over]).toEqual([[], false, true])
  })
})
