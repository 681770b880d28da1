/** One yes: its time, its number of calls, its messages. */
import { afterEach, beforeEach, expect, setSystemTime, test } from 'bun:test'
import { Decisions, type Kept } from '../../../plugins/approvals/decisions.ts'
import { Messages, noticeOf } from '../../../plugins/approvals/messages.ts'
import { type ApprovalRequest, type Asked, Requests } from '../../../plugins/approvals/requests.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const MINUTE = 60_000
const KEYS = { key: 'k', lastingKey: 'k' }

beforeEach(() => {
  setSystemTime(new Date(START))
})
afterEach(() => {
  setSystemTime()
})

const caller = (name: string) =>
  ({ kind: 'user', userId: `id-${name}`, name, role: 'user', credential: { kind: 'local' } }) as const

function asked(rememberMs = 0, more: Partial<Asked> = {}): Asked {
  return {
    ...{
      ...KEYS,
      caller: caller('ada'),
      client: '',
      serverId: 's',
      server: 'bob~s',
      ownerId: 'b',
      tool: 't',
      path: '',
      called: 't',
      shown: {},
    },
    ask: { who: 'owner', by: ['console'], timeoutMs: 10 * MINUTE, rememberMs, rule: '{}', deciderId: 'b' },
    isSingle: false,
    ...more,
  }
}

/** Decisions over a store in memory, which follows the changes of the requests as the plugin's does. */
function opened() {
  const stored = new Map<string, Kept>()
  const decisions = new Decisions({
    remove: async key => stored.delete(key),
    put: kept => void stored.set(kept.key, kept),
  })
  const requests = new Requests({ perUser: 16, inAll: 500 }, decisions, (_, change) => {
    for (const { key } of change?.dropped ?? []) stored.delete(key)
    if (change?.added) stored.set(change.added.key, change.added)
  })
  const open = (given: Asked): ApprovalRequest => {
    const request = requests.open(given, { actor: given.caller })
    if (!request) throw new Error('no request was opened')
    return request
  }
  return { stored, decisions, requests, open }
}

function approved(rememberMs = 0) {
  const all = opened()
  const request = all.open(asked(rememberMs))
  expect(all.requests.decide(request, { state: 'approved', remember: rememberMs > 0 })).toBe(true)
  expect(all.requests.decide(request, { state: 'denied' })).toBe(false)
  return all
}

test('a yes is for one call, also of two at the same moment, and leaves the store with it', async () => {
  const { decisions, stored } = approved()
  expect(stored.size).toBe(1)
  const taken = await Promise.all([decisions.take(KEYS), decisions.take(KEYS)])
  expect(taken.map(kept => kept?.approved)).toEqual([true, undefined])
  expect([stored.size, await decisions.take(KEYS)]).toEqual([0, undefined])
})

test('a yes that is not in the store passes no call, and one whose removal fails stays', async () => {
  const { decisions, stored } = approved()
  stored.clear()
  expect(await decisions.take(KEYS)).toBeUndefined()
  let fails = true
  const other = new Decisions({
    remove: async () => (fails ? Promise.reject(new Error('storage_busy')) : true),
    put() {},
  })
  const kept = { approvalId: 'a', userId: 'u', serverId: 's', approved: true, lasting: false, stored: true }
  other.load([{ ...kept, key: 'k', untilMs: START + MINUTE }])
  await expect(other.take(KEYS)).rejects.toThrow('storage_busy')
  fails = false
  expect((await other.take(KEYS))?.approved).toBe(true)
})

test('a yes that comes back unused ends ten minutes after the decision, however often it was taken', async () => {
  const { decisions } = approved()
  for (const minute of [4, 8]) {
    setSystemTime(new Date(START + minute * MINUTE))
    const kept = await decisions.take(KEYS)
    expect(kept?.approved).toBe(true)
    if (kept) decisions.giveBack(kept)
  }
  setSystemTime(new Date(START + 11 * MINUTE))
  expect(await decisions.take(KEYS)).toBeUndefined()
})

test('a yes that is remembered leaves no further one behind', async () => {
  const { decisions } = approved(MINUTE)
  const kept = await decisions.take(KEYS)
  expect([kept?.lasting, (await decisions.take(KEYS))?.lasting]).toEqual([true, true])
  if (kept) decisions.giveBack(kept)
  setSystemTime(new Date(START + 2 * MINUTE))
  expect(await decisions.take(KEYS)).toBeUndefined()
})

test('a yes of the client itself is for the call that waits, and is remembered for equal ones', async () => {
  const own = { key: 'k call-1', lastingKey: 'k', isSingle: true }
  for (const remember of [false, true]) {
    const { requests, decisions, stored, open } = opened()
    requests.decide(open(asked(MINUTE, own)), { state: 'approved', remember })
    expect([...stored.values()].map(({ key }) => key)).toEqual(remember ? ['k'] : [])
    expect((await decisions.take(own))?.approved).toBe(true)
    expect((await decisions.take({ key: 'k call-2', lastingKey: 'k' }))?.approved).toBe(remember ? true : undefined)
  }
})

test('one user has at most 200 yeses that wait, the newest ones', async () => {
  const { requests, decisions, stored, open } = opened()
  for (let index = 0; index < 250; index += 1) {
    const key = `k${index}`
    requests.decide(open(asked(0, { key, lastingKey: key })), { state: 'approved' })
  }
  expect([stored.size, stored.has('k49'), stored.has('k50')]).toEqual([200, false, true])
  expect(await decisions.take({ key: 'k49', lastingKey: 'k49' })).toBeUndefined()
})

test('a flood of requests is one message a minute, in which each caller has a line', () => {
  let nowMs = 0
  const sent: { readonly to: string; readonly title: string; readonly lines: readonly string[] }[] = []
  const messages = new Messages(
    { address: () => 'https://hub.example', notify: async (to, notice) => sent.push({ to, ...notice }) },
    () => nowMs,
  )
  const { requests, open } = opened()
  const one = (index: number, name = 'ada') =>
    open(asked(0, { key: `${name}${index}`, caller: caller(name), tool: `tool_${index}` }))
  const flood = Array.from({ length: 15 }, (_, index) => one(index))
  for (const request of [...flood, one(0, 'carl')]) messages.add(['b'], request)
  messages.sweep()
  expect(sent).toEqual([])
  nowMs = 1_000
  messages.sweep()
  expect(sent).toHaveLength(1)
  expect(sent[0]?.title).toBe('16 calls wait for your decision')
  expect(sent[0]?.lines.slice(0, 2)).toEqual([
    'ada: tool_0 of bob~s, until 2026-01-01 00:10:00 UTC',
    'carl: tool_0 of bob~s, until 2026-01-01 00:10:00 UTC',
  ])
  expect([sent[0]?.lines.length, sent[0]?.lines.at(-1)]).toEqual([6, 'and 11 more'])
  const later = one(1, 'carl')
  messages.add(['b'], later)
  const decided = one(2, 'carl')
  messages.add(['b'], decided)
  requests.decide(decided, { state: 'denied' })
  nowMs = 60_000
  messages.sweep()
  expect(sent).toHaveLength(1)
  nowMs = 61_000
  messages.sweep()
  expect(sent.map(({ title }) => title)).toEqual([
    '16 calls wait for your decision',
    'carl wants to call tool_1 of bob~s',
  ])
})

test('one caller causes messages about 60 requests an hour, and takes none from others', () => {
  let nowMs = 0
  const titles: string[] = []
  const messages = new Messages(
    { address: () => 'https://hub.example', notify: async (_, { title }) => titles.push(title) },
    () => nowMs,
  )
  const { requests, open } = opened()
  const ask = (index: number, name: string) =>
    messages.add([`to-${index}`], open(asked(0, { key: `${name}${index}`, caller: caller(name) })))
  for (let index = 0; index < 70; index += 1) {
    ask(index, 'ada')
    requests.end(({ key }) => index > 0 && key === `ada${index - 1}`)
    if (index % 2 === 0) nowMs += 1_000
    messages.sweep()
  }
  titles.length = 0
  ask(100, 'ada')
  ask(101, 'carl')
  nowMs += 1_000
  messages.sweep()
  expect(titles).toEqual(['carl wants to call t of bob~s'])
  nowMs += 3_600_000
  ask(102, 'ada')
  nowMs += 1_000
  messages.sweep()
  expect(titles).toHaveLength(2)
})

test('a message has names on one line each, and no arguments', () => {
  const { open } = opened()
  const request = open(
    asked(0, { tool: `send\n\u202egnp.exe https://evil.example ${'x'.repeat(500)}`, shown: { card: 'canary' } }),
  )
  const { title, lines, url } = noticeOf([request], 'https://hub.example/base')
  expect(url).toBe(`https://hub.example/base/approvals/${request.id}`)
  expect(title.length).toBeLessThan(300)
  const found = ['\n', '\u202e', 'canary', 'https://evil'].filter(part => `${title}${lines}`.includes(part))
  expect(found).toEqual([])
})
