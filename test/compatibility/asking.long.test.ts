import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { failureOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { type ClientKind, crossed, HANDSHAKING_CLIENTS, UPSTREAMS, type UpstreamKind } from './axes.ts'
import { textOf } from './cells.ts'
import { connect } from './pairs.ts'
import type { Manner, Peer } from './peers.ts'
import { sharedServer, startWorld, type Upstream, type World } from './upstreams.ts'

const KINDS = UPSTREAMS.filter(({ era }) => era !== 'none')
const LEGACY = KINDS.filter(({ era }) => era === 'legacy')
const MODERN = KINDS.filter(({ era }) => era === 'modern')
const METHODS = ['sampling/createMessage', 'elicitation/create', 'roots/list']

let world: World

beforeAll(async () => {
  world = await startWorld(KINDS)
}, 120_000)

afterAll(async () => {
  await world?.stop()
}, 120_000)

async function withPeer(client: ClientKind, path: string, asked: Manner, work: (peer: Peer) => Promise<void>) {
  const peer = await connect(world.admin, client, { name: 'ann', path, asked })
  try {
    await work(peer)
  } finally {
    await peer.close()
  }
}

function upstreamOf(kind: UpstreamKind): Upstream {
  return world.upstreams.find(each => each.kind === kind) as Upstream
}

describe('a shared connection is answered -32601 at once, and no client asked', () => {
  test.each(crossed(LEGACY, 0))('a client of %s, a server of %s', async (_, __, client, kind) => {
    await withPeer(client, sharedServer(kind), true, async peer => {
      for (const method of METHODS) expect(await textOf(peer.call('ask', { method }))).toBe('refused -32601')
      expect(peer.heard.asked).toEqual([])
    })
  })
})

describe('a client that declared nothing is not asked', () => {
  test.each(crossed(LEGACY, 1))('a client of %s, a server of %s', async (_, __, client, kind) => {
    await withPeer(client, upstreamOf(kind).askingPlace.name, false, async peer => {
      for (const method of METHODS) expect(await textOf(peer.call('ask', { method }))).toBe('refused -32601')
    })
  })

  test.each(crossed(MODERN, 1))(
    'a client of %s, a server of %s: an error that says so',
    async (_, __, client, kind) => {
      await withPeer(client, kind.id, false, async peer => {
        const { code, data } = await failureOf(peer.call('test_sampling', { prompt: 'Who?' }))
        if (client.version >= '2026')
          expect([code, data as unknown]).toEqual([-32021, { requiredCapabilities: { sampling: {} } }])
        else expect([code, data?.code]).toEqual([-32603, 'client_capability_missing'])
      })
    },
  )
})

describe('a client that says no', () => {
  test.each(crossed(KINDS, 0))(
    '%s, to a server of %s: a declined elicitation is an answer',
    async (_, __, client, kind) => {
      await withPeer(client, upstreamOf(kind).askingPlace.name, 'declines', async peer => {
        expect(await textOf(peer.call('test_elicitation', { message: 'Who?' }))).toContain('action: decline')
      })
    },
  )

  test.each(crossed(LEGACY, 0, HANDSHAKING_CLIENTS))(
    '%s, to a server of %s: its error reaches the server',
    async (_, __, client, kind) => {
      await withPeer(client, upstreamOf(kind).askingPlace.name, 'fails', async peer => {
        for (const method of METHODS) expect(await textOf(peer.call('ask', { method }))).toBe('refused -1')
      })
    },
  )

  test.each(crossed(MODERN, 1, HANDSHAKING_CLIENTS))(
    '%s, to a server of %s: its error ends the call',
    async (_, __, client, kind) => {
      await withPeer(client, kind.id, 'fails', async peer => {
        expect((await failureOf(peer.call('test_sampling', { prompt: 'Who?' }))).code).toBe(-1)
      })
    },
  )
})

describe('questions in a row, at once, and for a prompt', () => {
  test.each(crossed(KINDS, 1))('a client of %s, a server of %s', async (_, __, client, kind) => {
    await withPeer(client, upstreamOf(kind).askingPlace.name, true, async peer => {
      const asking = 'test_input_required_result'
      expect(await textOf(peer.call(`${asking}_multi_round`, {}))).toBe('ann likes red')
      expect(await textOf(peer.call(`${asking}_multiple_inputs`, {}))).toBe('sampled by ann ann, with 1 roots')
      expect(await peer.promptText(`${asking}_prompt`)).toContain('Use this context: ann')
      expect(peer.heard.asked).toHaveLength(6)
    })
  })
})

// This leaves out 2026-07-28: there, the question is the answer to the call, and nothing is left to cancel.
describe('a call that its client cancels while it is asked', () => {
  const handshaking = (kinds: readonly UpstreamKind[]) => crossed(kinds, 1, HANDSHAKING_CLIENTS)

  async function leave(peer: Peer, tool: string, args: Record<string, string>): Promise<void> {
    const leaving = new AbortController()
    const call = peer.call(tool, args, { signal: leaving.signal }).catch(() => 'left')
    await until(() => peer.heard.asked.length === 1, { what: 'the question', timeoutMs: 60_000 })
    leaving.abort()
    expect(await call).toBe('left')
  }

  test.each(handshaking(LEGACY))(
    '%s: a server of %s is notified, and the next call is answered',
    async (_, __, client, kind) => {
      await withPeer(client, upstreamOf(kind).askingPlace.name, 'hangs', async peer => {
        const before = await cancelled(peer)
        await leave(peer, 'ask', { method: 'roots/list' })
        const heard = async () => (await cancelled(peer)) === before + 1
        await until(heard, { what: 'the server to hear', timeoutMs: 60_000 })
        expect(await textOf(peer.call('echo', { text: 'still there' }))).toBe('still there')
      })
    },
  )

  test.each(handshaking(MODERN))(
    '%s: to a server of %s it does not come back, and the next call is answered',
    async (_, __, client, kind) => {
      await withPeer(client, kind.id, 'hangs', async peer => {
        await leave(peer, 'test_sampling', { prompt: 'Who?' })
        expect(await textOf(peer.call('echo', { text: 'still there' }))).toBe('still there')
      })
    },
  )
})

/** Asks over the client's own connection, since that may have a process of its own. */
async function cancelled(peer: Peer): Promise<number> {
  return (JSON.parse(await textOf(peer.call('journal', { event: 'cancelled' }))) as string[]).length
}
