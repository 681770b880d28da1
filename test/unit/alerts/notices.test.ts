/** Messages about no alert on a real store, sent by a real channel to a real receiver. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { CHANNELS, prepareChannel } from '../../../core/alerts/channels.ts'
import { Notices } from '../../../core/alerts/delivery/notices.ts'
import { Outbox } from '../../../core/alerts/delivery/outbox.ts'
import type { NotificationChannel } from '../../../core/features/alerts.ts'
import { createGuardedFetch } from '../../../core/outbound/create.ts'
import { OwnedSettings } from '../../../core/registry/owned/settings.ts'
import { createSealer } from '../../../core/secrets/seal.ts'
import { webhookChannel } from '../../../plugins/alert-webhook/webhook.ts'
import { startReceiver } from '../../support/receiver.ts'
import { openWorld, type World } from '../registry/world.ts'

const NOTICE = { title: 'two\nlines', lines: ['hidden\u202e'], url: 'https://hub.example/approvals' }
const { notify: _notify, ...alertsAlone } = webhookChannel
const types = new Map<string, NotificationChannel>([
  ['webhook', webhookChannel],
  ['alerts-alone', alertsAlone],
])
const sealer = createSealer([randomBytes(32)])
const networks = ['127.0.0.0/8']

let world: World
let receiver: ReturnType<typeof startReceiver>
let outbox: Outbox
let notices: Notices
let nowMs: number
let warned: string[]
let delivered: string[]

beforeEach(async () => {
  world = await openWorld()
  ;[nowMs, warned, delivered] = [0, [], []]
  receiver = startReceiver(({ path }) => new Response('', { status: path === '/gone' ? 410 : 200 }))
  const fetch = createGuardedFetch({ rights: { networks, admin: false }, instanceId: 'x' })
  const log = { debug() {}, info() {}, warn: (message: string) => void warned.push(message), error() {} }
  const parts = {
    ...{ store: world.store, sealer, log, types: () => types, now: () => nowMs },
    delivered: (_type: string, result: string) => void delivered.push(result),
  }
  outbox = new Outbox({ ...parts, reachFor: async () => ({ fetch, resolve: async () => [] }) })
  notices = new Notices({ ...parts, outbox })
})
afterEach(async () => {
  await outbox.dispose()
  await receiver.stop()
  await world.end()
})

async function channel(name: string, path: string, more: object = {}): Promise<void> {
  const body = { name, type: 'webhook', config: { url: `${receiver.url}${path}` }, ...more }
  const deps = { types: () => types, sealer, outboundAllow: networks }
  await new OwnedSettings(world.store, CHANNELS, () => {}).create(
    world.bob,
    undefined,
    prepareChannel(world.bob, body, deps),
  )
}

test('goes to the user’s own channels that are on and take such messages, on one line each', async () => {
  await channel('on', '/on')
  await channel('off', '/off', { enabled: false })
  await channel('other', '/other', { type: 'alerts-alone' })
  expect(await notices.notify(world.cleo.userId, NOTICE)).toBe(0)
  expect(await notices.notify(world.bob.userId, NOTICE)).toBe(1)
  expect(receiver.received.map(({ path }) => path)).toEqual(['/on'])
  const { json } = receiver.received[0] ?? { json: {} }
  expect(json).toMatchObject({ kind: 'notice', owner: 'bob', url: NOTICE.url })
  expect([json.title.includes('\n'), json.lines[0].includes('\u202e')]).toEqual([false, false])
})

test('a channel that refuses for good is not asked again, and the others get it', async () => {
  await channel('gone', '/gone')
  await channel('on', '/on')
  expect(await notices.notify(world.bob.userId, NOTICE)).toBe(1)
  expect(receiver.received.map(({ path }) => path).toSorted()).toEqual(['/gone', '/on'])
  expect([warned, delivered.toSorted()]).toEqual([['A message to a user was not taken'], ['dead', 'sent']])
})

test('six a minute for each user', async () => {
  await channel('on', '/on')
  const counts: number[] = []
  for (let index = 0; index < 8; index += 1) counts.push(await notices.notify(world.bob.userId, NOTICE))
  expect(counts).toEqual([1, 1, 1, 1, 1, 1, 0, 0])
  nowMs = 10_000
  expect(await notices.notify(world.bob.userId, NOTICE)).toBe(1)
  expect(receiver.received).toHaveLength(7)
})
