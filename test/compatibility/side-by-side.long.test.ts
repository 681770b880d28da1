import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { until } from '../support/wait.ts'
import { crossed, UPSTREAMS, type UpstreamKind } from './axes.ts'
import { textOf } from './cells.ts'
import { Pairs } from './pairs.ts'
import type { Peer } from './peers.ts'
import { startWorld, type Upstream, type World } from './upstreams.ts'

const KINDS = UPSTREAMS.filter(({ era }) => era !== 'none')
const CALLS = 10
const LEVELS = ['debug', 'info', 'warning', 'error']

let world: World

beforeAll(async () => {
  world = await startWorld(KINDS)
}, 120_000)

afterAll(async () => {
  await world?.stop()
}, 120_000)

function upstreamOf(kind: UpstreamKind): Upstream {
  return world.upstreams.find(each => each.kind === kind) as Upstream
}

/** True when a message on this transport names the call that it belongs to. */
const related = ({ transport }: UpstreamKind): boolean => transport === 'http'

/** Many calls of both at once, each with its own key. */
async function talk(peers: readonly (readonly [Peer, string])[]): Promise<void> {
  const calls = peers.flatMap(([peer, name]) =>
    Array.from({ length: CALLS }, (_, at) => textOf(peer.call('talk', { key: `${name} ${at}` }))),
  )
  await Promise.all(calls)
}

const all = (name: string) =>
  Array.from({ length: CALLS }, (_, at) => LEVELS.map(level => `${level} ${name} ${at}`))
    .flat()
    .sort()
const heardBy = ({ heard }: Peer) => heard.logs.map(([level, data]) => `${level} ${data}`).sort()

describe('log messages of calls that run side by side', () => {
  test.each(crossed(KINDS, 0))(
    'a client of %s, a shared server of %s: none reaches the other client',
    async (_, __, client, kind) => {
      await using pair = new Pairs(world.admin, client, upstreamOf(kind))
      const [ann, bob] = await pair.open('plain')
      await Promise.all([ann.setLevel('debug'), bob.setLevel('debug')])
      await talk([
        [ann, 'ann'],
        [bob, 'bob'],
      ])
      for (const [peer, name] of [
        [ann, 'ann'],
        [bob, 'bob'],
      ] as const) {
        if (related(kind)) expect(heardBy(peer)).toEqual(all(name))
        else expect(heardBy(peer).filter(each => !each.includes(name))).toEqual([])
      }
    },
  )

  const legacy = KINDS.filter(({ era }) => era === 'legacy')
  test.each(crossed(legacy, 1))(
    'a client of %s, a server of %s on connections of their own: each receives all of its own messages',
    async (_, __, client, kind) => {
      await using pair = new Pairs(world.admin, client, upstreamOf(kind))
      const [ann, bob] = await pair.open('own')
      await Promise.all([ann.setLevel('debug'), bob.setLevel('debug')])
      await talk([
        [ann, 'ann'],
        [bob, 'bob'],
      ])
      // A message and a result may come over two streams, in either order.
      await until(() => [ann, bob].every(({ heard }) => heard.logs.length >= CALLS * LEVELS.length))
      expect([heardBy(ann), heardBy(bob)]).toEqual([all('ann'), all('bob')])
    },
  )
})

describe('progress of many calls at once, under tokens that the other client uses as well', () => {
  test.each(crossed(KINDS, 2))('a client of %s, a server of %s', async (_, __, client, kind) => {
    await using pair = new Pairs(world.admin, client, upstreamOf(kind))
    const [ann, bob] = await pair.open('plain')
    const run = (peer: Peer, name: string) =>
      Array.from({ length: CALLS }, (_, token) => textOf(peer.call('steps', { key: `${name} ${token}` }, { token })))
    await Promise.all([...run(ann, 'ann'), ...run(bob, 'bob')])
    for (const [peer, name] of [
      [ann, 'ann'],
      [bob, 'bob'],
    ] as const)
      for (let token = 0; token < CALLS; token += 1)
        expect(peer.heard.progress.filter(([each]) => each === token)).toEqual(
          [1, 2, 3].map(step => [token, step, `${name} ${token}`]),
        )
  })
})
